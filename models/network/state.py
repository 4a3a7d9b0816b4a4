"""What decoding carries from step to step: of sentences, of their hypotheses, and of the words so far.

Shape letters as in `models.network.layers`; X is the width of what is kept of a word, L counts the words so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from models.data.batches import Memory
from models.network.layers import additive

ROOM = 32
"""Words by which a cache grows: fewer copies than one by one, less waste than the maximum length."""
MASK = ".mask"
"""What the name of every mask in `State.fixed` ends with."""
MEMORY = "memory."
"""What the names of what the preceding sentences left begin with; it is padded on the left."""


@dataclass
class State:
    """What decoding carries from step to step: tensors by name.

    `fixed` belongs to the sentence (B, ...) and is never reordered; `past` is what each word of a hypothesis has left,
    (room, R, X), of which the first `position` words are there; `shared` belongs to no row: what depends on the weights
    alone, computed as it is needed. With `cached` unset nothing is kept between calls: the whole target is decoded at
    once, as in training, and what the architecture leaves to the next sentence stands in `left`.
    """

    fixed: dict[str, Tensor]
    past: dict[str, Tensor] = field(default_factory=dict)
    position: int = 0
    cached: bool = False
    shared: dict[str, Tensor] = field(default_factory=dict)
    left: dict[str, Tensor] = field(default_factory=dict)
    columns: Tensor | None = None
    """(R, room) where in `past` each word of a hypothesis is, if attention looks there: then no word is moved. What is
    still to come has the hypothesis's own number."""
    starts: Tensor | None = None
    """(R,) where the sentence of each hypothesis begins in `past`, if some have joined later than others."""
    _unseen: Tensor | None = None
    """The mask of the words before those, for the layers of one step."""

    @property
    def next_place(self) -> int | Tensor:
        """Where the next word goes, as a number or on the device, (1,)."""
        return self.position

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Append what new words have left, (R, T, X); gives that of all so far, (R, position + T, X).

        After `look_up` there may be more than R columns, and a hypothesis's words are where `columns` says.
        """
        if not self.cached:
            return new
        cache, end = self.reserve(name, new), self.position + new.size(1)
        cache[self.position : end, : new.size(0)] = new.transpose(0, 1)
        return cache[:end].transpose(0, 1)

    def reserve(self, name: str, new: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Where what new words leave, like `new` (R, T, X), is to be put: (more than position + T, R or more, X)."""
        (rows, words, width), cache = new.shape, self.past.get(name)
        end = self.position + words
        if cache is None or cache.size(0) < end or cache.size(1) < rows:
            used = 0 if cache is None else self._used_columns(cache)
            grown = new.new_empty(_room(end), max(rows, used), width, dtype=dtype)
            if cache is not None:
                grown[: self.position, :used] = cache[: self.position, :used]
            cache = self.past[name] = grown
        return cache

    def _used_columns(self, cache: Tensor) -> int:
        """Up to which column there are words that anybody still reads: the batch may have been larger."""
        if self.columns is None or self.position == 0:
            return cache.size(1)
        return int(self.columns[:, : self.position].max()) + 1

    def look_up(self, rows: int, words: int) -> Tensor | None:
        """Where the words of each of so many hypotheses are, those to come included; from now on they stay there."""
        if not self.cached:
            return None
        end = self.position + words
        if self.columns is None or self.columns.size(1) < end:
            grown = self._own(rows, _room(end))
            if self.columns is not None:
                grown[:, : self.position] = self.columns[:, : self.position]
            self.columns = grown
        return self.columns

    def advance(self, words: int) -> None:
        """So many words more have been read."""
        if self.cached:
            self.position += words
            self._unseen = None

    def places(self, words: int) -> Tensor | slice:
        """Where in their sentences the next words stand: for all hypotheses, or (R, T)."""
        if self.starts is None:
            return slice(self.position, self.position + words)
        here = torch.arange(self.position, self.position + words, device=self.starts.device)
        return here - self.starts[:, None]

    def unseen(self, dtype: torch.dtype) -> Tensor | None:
        """What is added to the scores of one more word: hides what was before a hypothesis's own; (R, 1, 1, L)."""
        if self.starts is None:
            return None
        if self._unseen is None:
            here = torch.arange(self.position + 1, device=self.starts.device)
            self._unseen = additive((here >= self.starts[:, None])[:, None, None], dtype)
        return self._unseen

    def settle(self, dtype: torch.dtype = torch.float32) -> State:
        """Get ready for many steps: what each of them reads in one piece, masks as what they add to scores."""
        for name, tensor in self.fixed.items():
            self.fixed[name] = additive(tensor, dtype) if name.endswith(MASK) else tensor.contiguous()
        return self

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i continue from what `rows[i]` was; `rows` (R',) may also widen or narrow the beam."""
        if self.columns is not None:
            self.columns = self.columns[rows]
            self.columns[:, self.position :] = self._own(len(rows), 1)
        else:
            for name, cache in self.past.items():
                moved = cache.new_empty(cache.size(0), len(rows), cache.size(2))
                torch.index_select(cache[: self.position], 1, rows, out=moved[: self.position])
                self.past[name] = moved
        if self.starts is not None:
            self.starts = self.starts[rows]

    def keep(self, sentences: Tensor) -> None:
        """Keep these sentences (B',) only, in this order; the caller reorders the hypotheses.

        On a CPU, where most stay in their places (`models.search.running.staying`), only the others are moved.
        """
        lengths = self.lengths(sentences)
        for name, length in lengths.items():
            self.fixed[name] = cropped(name, self.fixed[name], length)
        moves = _moves(sentences)
        for name, tensor in self.fixed.items():
            if moves is not None and name not in lengths:
                for place, moved in moves:
                    tensor[place] = tensor[moved]
                self.fixed[name] = tensor[: len(sentences)]
            else:
                self.fixed[name] = tensor.index_select(0, sentences)

    def select(self, sentences: Tensor) -> State:
        """A state of these sentences (B',) alone, before their first token."""
        fixed = {name: tensor.index_select(0, sentences) for name, tensor in self.fixed.items()}
        return State(fixed, cached=self.cached, shared=self.shared)

    def cut(self, words: Tensor) -> None:
        """Let each hypothesis, all of which began together, have its first words only, so many: (R,), 1 or more.

        The last ones stand at the end together, so that all go on in step: those with fewer begin later.
        """
        longest = int(words.max())
        starts = longest - words
        places = torch.arange(longest, device=words.device)[:, None] - starts
        index = places.clamp(min=0)[:, :, None]
        past = {name: self.ordered(cache) for name, cache in self.past.items()}
        self.past = {name: cache.gather(0, index.expand(-1, -1, cache.size(2))) for name, cache in past.items()}
        self.position, self.starts, self._unseen = longest, starts if bool(starts.any()) else None, None
        self.columns = None

    def join(self, others: State, rows: int, joining: int) -> None:
        """Let other sentences be decoded with these, which come first; the last words of all stand together.

        Args:
            others: of the same model, settled.
            rows: hypotheses here, R.
            joining: hypotheses there.
        """
        self.fixed = {name: _joined(name, tensor, others.fixed[name]) for name, tensor in self.fixed.items()}
        end = max(self.position, others.position)
        starts = torch.cat([self._starts(rows, end), others._starts(joining, end)])
        if self.columns is not None and not others.past:
            self.columns = F.pad(self.columns[:, :end], (0, 0, 0, joining))
        else:
            self._move_past(others, rows, joining, end)
        self.position, self.starts, self._unseen = end, starts, None
        self._forget(int(starts.min()))
        if not bool(self.starts.any()):
            self.starts = None

    def _move_past(self, others: State, rows: int, joining: int, end: int) -> None:
        """Put the words of other sentences beside those of these, so that the last ones stand before `end`."""
        past = {}
        for name, like in (self.past | others.past).items():
            past[name] = like.new_zeros(_room(max(end, 1)), rows + joining, like.size(2))
            for state, columns in ((self, slice(rows)), (others, slice(rows, None))):
                if name in state.past:
                    past[name][end - state.position : end, columns] = state.ordered(state.past[name])
        self.past, self.columns = past, None

    def _own(self, rows: int, room: int) -> Tensor:
        """Columns (R, room) of hypotheses that all are in their own."""
        device = next(iter(self.fixed.values())).device
        return torch.arange(rows, device=device)[:, None].repeat(1, room)

    def ordered(self, cache: Tensor) -> Tensor:
        """What all words so far have left, (..., position, R, X), each hypothesis's in its own column."""
        if self.columns is None:
            return cache[..., : self.position, :, :]
        first = torch.arange(self.position, device=cache.device)[:, None] * cache.size(-2)
        index = first + self.columns[:, : self.position].T
        return cache.flatten(-3, -2).index_select(-2, index.flatten()).unflatten(-2, index.shape)

    def lengths(self, sentences: Tensor) -> dict[str, int]:
        """How many tokens these sentences need of what has more for others alone: long ones come and go."""
        masks = hidden_by(self.fixed)
        needed = {name: self._needed(name, sentences) for name in dict.fromkeys(masks.values())}
        return {name: needed[mask] for name, mask in masks.items() if needed[mask] < self.fixed[mask].size(-1)}

    def _needed(self, name: str, sentences: Tensor) -> int:
        """Up to where a mask lets any of these sentences see something, and 1 at least."""
        mask = self.fixed[name]
        seen = (mask if mask.dtype == torch.bool else mask == 0)[sentences].flatten(0, -2).any(0).nonzero()
        return int(seen[-1]) + 1 if len(seen) else 1

    def _starts(self, rows: int, end: int) -> Tensor:
        """Where each of so many hypotheses begins, (R,), when their last words stand before `end`."""
        if self.starts is None:
            device = next(iter(self.fixed.values())).device
            return torch.full((rows,), end - self.position, device=device)
        return self.starts + (end - self.position)

    def recall(self, memory: Memory) -> None:
        """Let `fixed` have, as `memory.<name>`, what the preceding sentences left behind; nothing, if they did not."""
        self.fixed |= {f"{MEMORY}{name}": tensor for name, tensor in memory.items()}

    def _forget(self, words: int) -> None:
        """Drop words that were before every hypothesis's own."""
        if words == 0 or self.starts is None:
            return
        self.past = {name: cache[words:] for name, cache in self.past.items()}
        if self.columns is not None:
            self.columns = self.columns[:, words:]
        self.position -= words
        self.starts = self.starts - words


def hidden_by(names: Iterable[str]) -> dict[str, str]:
    """Of keys, of values, and of masks themselves, the mask that hides their padding, by name."""
    known = list(names)
    return {
        name: mask
        for mask in known
        if mask.endswith(MASK)
        for name in known
        if name == mask or (name.endswith((".keys", ".values")) and name.startswith(mask.removesuffix("mask")))
    }


def cropped(name: str, tensor: Tensor, length: int) -> Tensor:
    """A mask (..., S), or keys or values (..., S, X), of fewer tokens."""
    return tensor[..., :length] if name.endswith(MASK) else tensor[..., :length, :]


def _moves(sentences: Tensor) -> list[tuple[int, int]] | None:
    """Which places get other sentences, and which; none, if one of those would be overwritten before it is moved.

    One by one, each in one piece, is ten times as fast as by torch's index of all. Nor on a GPU, which would have to be
    waited for, nor while gradients are recorded, which need what was there.
    """
    if sentences.device.type != "cpu" or torch.is_grad_enabled():
        return None
    moves = [(place, moved) for place, moved in enumerate(sentences.tolist()) if place != moved]
    return moves if all(moved >= len(sentences) for _, moved in moves) else None


def _room(words: int) -> int:
    """The words that a cache for so many has room for."""
    return -(-words // ROOM) * ROOM


def _joined(name: str, one: Tensor, other: Tensor) -> Tensor:
    """Two tensors (B, ...) above each other, both padded to the larger of each further dimension."""
    shape = [max(sizes) for sizes in zip(one.shape[1:], other.shape[1:], strict=True)]
    hidden = torch.finfo(one.dtype).min / 2 if name.endswith(MASK) else 0
    return torch.cat([_padded(tensor, shape, hidden) for tensor in (one, other)])


def _padded(tensor: Tensor, shape: list[int], value: float) -> Tensor:
    missing = [new - old for new, old in zip(shape, tensor.shape[1:], strict=True)]
    if not any(missing):
        return tensor
    return F.pad(tensor, [side for new in reversed(missing) for side in (0, new)], value=value)
