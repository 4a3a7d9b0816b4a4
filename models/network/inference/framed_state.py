"""Decoding states whose sentences come and go, while each step runs in a frame; see `frame`."""

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
"""Limit for idle frames: twenty of 128 sentences of 64 tokens, with six layers of width 512. Graphs that encode batches
may take as much again."""
FRAME_SHARE: Final = 16
"""Divisor of a GPU's memory that gives the limit instead, where that is more."""


def frame_bytes(device: torch.device) -> int:
    """Return the bytes that idle frames may take on a device."""
    if device.type != "cuda":
        return FRAME_BYTES
    return max(FRAME_BYTES, torch.cuda.get_device_properties(device).total_memory // FRAME_SHARE)


class Frames:
    """Idle frames, which no state uses; the least recently used are dropped first, and the last one is always kept."""

    def __init__(self, limit: int) -> None:
        """Keep frames of at most `limit` bytes in total."""
        self._limit = limit
        self._idle: list[Frame] = []

    def take(self, shape: Shape) -> Frame | None:
        """Take a frame of a shape, or None; the caller owns it until giving it back."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place].shape == shape:
                return self._idle.pop(place)
        return None

    def give(self, frame: Frame) -> None:
        """Return a frame to be reused."""
        self._idle.append(frame)
        while len(self._idle) > 1 and sum(idle.nbytes for idle in self._idle) > self._limit:
            self._idle.pop(0)

    def clear(self) -> None:
        """Drop all idle frames and free their memory."""
        self._idle.clear()


class Hold:
    """A frame in use, given back as soon as nothing references this object any more."""

    def __init__(self, frame: Frame, frames: Frames) -> None:
        self.frame: Final = frame
        weakref.finalize(self, frames.give, frame).atexit = False


@dataclass
class FramedState(State):
    """A state that may be stored in a frame. Every change except a step takes it out of the frame first."""

    hold: Hold | None = None
    """The frame that holds some or all of its tensors."""
    framed: bool = False
    """Whether the frame holds all of them, ready for its step."""
    origins: Tensor | None = None
    """(R,): the hypothesis in the frame that each one continues, if the next step has yet to move them."""
    blocks: Blocks | None = None
    """`fixed` in blocks, if it has been in a frame; stale if a tensor has been replaced since."""
    words: Blocks | None = None
    """`past` in blocks, likewise, if words are looked up; otherwise they are moved one by one."""

    @property
    def sentences(self) -> int:
        """Number of sentences, B."""
        return len(next(iter(self.fixed.values())))

    @property
    def choice(self) -> Choice | None:
        """The choice of the frame that holds it, or held it last."""
        return None if self.hold is None else self.hold.frame.shape.choice

    def fits(self, rows: int, choice: Choice | None = None) -> bool:
        """Whether the next word of so many hypotheses can be decoded in the frame as it is, and chosen if requested."""
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
        """Run the frame's step, which must fit; see `Frame.step`."""
        assert self.hold is not None
        origins, self.origins = self.origins, None
        self.position += 1
        return self.hold.frame.step(tokens, origins)

    def choose(self, tokens: Tensor, totals: Tensor | None) -> Chosen:
        """Run the frame's step, which must fit, and choose; see `Frame.choose`."""
        assert self.hold is not None
        origins, self.origins = self.origins, None
        self.position += 1
        return self.hold.frame.choose(tokens, totals, origins)

    def leave(self) -> None:
        """Become an ordinary state; tensors stay in the frame until they are changed."""
        origins, self.origins, self.framed = self.origins, None, False
        if origins is not None:
            super().reorder(origins)

    def reorder(self, rows: Tensor) -> None:
        """Reorder as any state; within a beam of the same width, the next step moves the hypotheses."""
        if self.hold is not None and self.hold.frame.shape.beam > 1 and self.fits(len(rows)):
            self.origins = rows if self.origins is None else self.origins[rows]
            return
        self.leave()
        super().reorder(rows)

    def keep(self, sentences: Tensor) -> None:
        """Keep sentences as any state; blocks that are in a frame are moved by a few kernels."""
        self.leave()
        whole = _whole(self.blocks, self.fixed)
        if whole is None:
            self.blocks = None
            super().keep(sentences)
        else:
            self.blocks = whole.keep(sentences, self.lengths(sentences))
            self.fixed = dict(self.blocks.tensors)

    def cut(self, words: Tensor) -> None:
        """Leave the frame, then do as any state."""
        self.leave()
        super().cut(words)

    def join(self, others: State, rows: int, joining: int) -> None:
        """Leave the frame, then do as any state."""
        self.leave()
        if isinstance(others, FramedState):
            others.leave()
        self.blocks = None  # their memory is needed
        super().join(others, rows, joining)


def _whole(blocks: Blocks | None, tensors: Mapping[str, Tensor]) -> Blocks | None:
    """Return the blocks if they consist of exactly these tensors, else None."""
    return blocks if blocks is not None and blocks.are(tensors) else None
