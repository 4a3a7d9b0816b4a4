"""States of sentences that come and go, while each step is done in a frame; see `frame`."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from models.kernels.choices import Choice, Chosen
from models.network.inference.blocks import Blocks
from models.network.inference.frame import Frame, Shape
from models.network.state import State

FRAME_BYTES: Final = 2 * 2**30
"""Of frames that wait for a batch of their shape: twenty of 128 sentences of 64 tokens, six layers of width 512. What
encodes batches may take as much."""
FRAME_SHARE: Final = 16
"""One part of so many of a GPU's memory, where that is more."""


def frame_bytes(device: torch.device) -> int:
    """What frames that wait may take on a device."""
    if device.type != "cuda":
        return FRAME_BYTES
    return max(FRAME_BYTES, torch.cuda.get_device_properties(device).total_memory // FRAME_SHARE)


class Frames:
    """Frames that no state uses; those that were used longest ago go first, and the last one stays."""

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        """Keep frames of at most `limit` bytes together."""
        self._limit = limit
        self._idle: list[Frame] = []

    def take(self, shape: Shape) -> Frame | None:
        """A frame of a shape, if there is one; it is the caller's until it is given back."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place].shape == shape:
                return self._idle.pop(place)
        return None

    def give(self, frame: Frame) -> None:
        """Let a frame be used again."""
        self._idle.append(frame)
        while len(self._idle) > 1 and sum(idle.nbytes for idle in self._idle) > self._limit:
            self._idle.pop(0)

    def clear(self) -> None:
        """Free the memory."""
        self._idle.clear()


class Hold:
    """A frame in use, which is given back when nobody holds it any more."""

    def __init__(self, frame: Frame, frames: Frames) -> None:
        self.frame: Final = frame
        weakref.finalize(self, frames.give, frame).atexit = False


@dataclass
class FramedState(State):
    """A state that may stand in a frame. Whatever changes it, but a step, takes it out first."""

    hold: Hold | None = None
    """The frame that its tensors stand in, or some of them."""
    framed: bool = False
    """Whether all of them do, as the frame's step needs it."""
    origins: Tensor | None = None
    """(R,) what each hypothesis continues of what stands in the frame, if the next step has yet to move it."""
    blocks: Blocks | None = None
    """What `fixed` is, if it has stood in a frame, unless something was put in the place of a tensor."""
    words: Blocks | None = None
    """The same of `past`, if words are looked up: else they are moved one by one."""

    @property
    def sentences(self) -> int:
        """B."""
        return len(next(iter(self.fixed.values())))

    @property
    def choice(self) -> Choice | None:
        """What is chosen in the frame that it stands in, or stood in last."""
        return None if self.hold is None else self.hold.frame.shape.choice

    def fits(self, rows: int, choice: Choice | None = None) -> bool:
        """Whether the next word of so many hypotheses can be decoded where they are, and chosen, if it is to be."""
        if not self.framed or self.hold is None:
            return False
        shape = self.hold.frame.shape
        chooses = choice is None or choice == shape.choice
        return chooses and self.position < shape.room and rows == self.sentences * shape.beam

    def enter(self, hold: Hold, rows: int) -> None:
        """Move into a frame, with so many hypotheses."""
        hold.frame.fill(self, _whole(self.blocks, self.fixed), _whole(self.words, self.past))
        self.blocks = hold.frame.fixed(self.sentences)
        self.fixed, self.past = dict(self.blocks.tensors), hold.frame.past(rows)
        self.columns = hold.frame.columns(rows)
        self.words = None if self.columns is None else hold.frame.words
        self.hold, self.framed = hold, True

    def step(self, tokens: Tensor) -> Tensor:
        """Do the frame's step, if it fits; as `Frame.step`."""
        assert self.hold is not None
        origins, self.origins = self.origins, None
        self.position += 1
        return self.hold.frame.step(tokens, origins)

    def choose(self, tokens: Tensor, totals: Tensor | None) -> Chosen:
        """Do the frame's step, if it fits, and choose as it does; as `Frame.choose`."""
        assert self.hold is not None
        origins, self.origins = self.origins, None
        self.position += 1
        return self.hold.frame.choose(tokens, totals, origins)

    def leave(self) -> None:
        """Be like any other state; tensors stay in the frame until they are changed."""
        origins, self.origins, self.framed = self.origins, None, False
        if origins is not None:
            super().reorder(origins)

    def reorder(self, rows: Tensor) -> None:
        """As any state; the hypotheses of a beam that stays as wide are moved by the next step."""
        if self.hold is not None and self.hold.frame.shape.beam > 1 and self.fits(len(rows)):
            self.origins = rows if self.origins is None else self.origins[rows]
            return
        self.leave()
        super().reorder(rows)

    def keep(self, sentences: Tensor) -> None:
        """As any state; what stands in a frame leaves it in few kernels."""
        self.leave()
        whole = _whole(self.blocks, self.fixed)
        if whole is None:
            self.blocks = None
            super().keep(sentences)
        else:
            self.blocks = whole.keep(sentences, self.lengths(sentences))
            self.fixed = dict(self.blocks.tensors)

    def cut(self, words: Tensor) -> None:
        """As any state."""
        self.leave()
        super().cut(words)

    def join(self, others: State, rows: int, joining: int) -> None:
        """As any state."""
        self.leave()
        if isinstance(others, FramedState):
            others.leave()
        self.blocks = None  # whose memory is needed
        super().join(others, rows, joining)


def _whole(blocks: Blocks | None, tensors: Mapping[str, Tensor]) -> Blocks | None:
    """Blocks, if these tensors are all of them."""
    return blocks if blocks is not None and blocks.are(tensors) else None
