"""The state that decoding carries from step to step, per sentence, per hypothesis and per word so far.

Shape letters as in `models.network.layers`; X is the width of what is kept per word, L counts the words so far.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from models.data.batches import Memory
from models.network.attention import additive

ROOM = 32
"""Words by which a cache grows: fewer copies than growing one by one, less waste than the maximum length."""
MASK = ".mask"
"""Suffix of the name of every mask in `State.fixed`."""
KEYS, VALUES = ".keys", ".values"
"""The same of keys and values."""
MEMORY = "memory."
"""Name prefix of what the preceding sentences left, which is padded on the left."""


@dataclass
class State:
    """The state that decoding carries from step to step: tensors by name.

    `fixed` belongs to the sentences (B, ...) and is never reordered; `past` is what each word of a hypothesis has left,
    (room, R, X), of which the first `position` words are filled; `shared` belongs to no row: it depends on the weights
    alone and is computed on demand. With `cached` unset nothing is kept between calls: the whole target is decoded at
    once, as in training, and what the architecture leaves to the next sentence is in `left`.
    """

    fixed: dict[str, Tensor]
    past: dict[str, Tensor] = field(default_factory=dict)
    position: int = 0
    cached: bool = False
    shared: dict[str, Tensor] = field(default_factory=dict)
    left: dict[str, Tensor] = field(default_factory=dict)
    columns: Tensor | None = None
    """(R, room): the column of `past` that holds each word of a hypothesis, if attention looks words up there, so that
    none is ever moved. Words still to come have the hypothesis's own number."""
    starts: Tensor | None = None
    """(R,): where each hypothesis's sentence begins in `past`, if some joined later than others."""
    _unseen: Tensor | None = None
    """Mask of the words before `starts`, shared by the layers of one step."""

    def fix(self, part: str, layer: int, known: tuple[Tensor, Tensor], mask: Tensor) -> None:
        """Keep a layer's keys and values (B, H, S, D/H) of a part of the input, and the mask that all layers share."""
        keys, values = known
        self.fixed |= {f"{part}.{layer}{KEYS}": keys, f"{part}.{layer}{VALUES}": values, f"{part}{MASK}": mask}

    def known(self, part: str, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return what `fix` has kept: keys, values and mask."""
        return self.fixed[f"{part}.{layer}{KEYS}"], self.fixed[f"{part}.{layer}{VALUES}"], self.fixed[f"{part}{MASK}"]

    @property
    def next_place(self) -> int | Tensor:
        """Position of the next word, as a number or as a tensor (1,) on the device."""
        return self.position

    def extend(self, name: str, new: Tensor) -> Tensor:
        """Append what new words have left, (R, T, X), and return that of all so far, (R, position + T, X).

        After `look_up` there may be more than R columns; `columns` says where a hypothesis's words are.
        """
        if not self.cached:
            return new
        cache, end = self.reserve(name, new), self.position + new.size(1)
        cache[self.position : end, : new.size(0)] = new.transpose(0, 1)
        return cache[:end].transpose(0, 1)

    def reserve(self, name: str, new: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return the cache that will hold what new words leave, shaped like `new` (R, T, X), grown as needed.

        Returns:
            (more than position + T, R or more, X).
        """
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
        """Return the number of columns with words still in use: the batch may have been larger."""
        if self.columns is None or self.position == 0:
            return cache.size(1)
        return int(self.columns[:, : self.position].max()) + 1

    def look_up(self, rows: int, words: int) -> Tensor | None:
        """Return the columns of each hypothesis's words, including those to come; from now on no word is moved."""
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
        """Record that `words` more words have been read."""
        if self.cached:
            self.position += words
            self._unseen = None

    def places(self, words: int) -> Tensor | slice:
        """Return the positions of the next words in their sentences: for all hypotheses, or (R, T)."""
        if self.starts is None:
            return slice(self.position, self.position + words)
        here = torch.arange(self.position, self.position + words, device=self.starts.device)
        return here - self.starts[:, None]

    def unseen(self, dtype: torch.dtype, words: int = 1) -> Tensor | None:
        """Return the additive mask (R, 1, 1, L + words) of more words, which hides what precedes a hypothesis's own."""
        if self.starts is None:
            return None
        if self._unseen is None:
            here = torch.arange(self.position + words, device=self.starts.device)
            self._unseen = additive((here >= self.starts[:, None])[:, None, None], dtype)
        return self._unseen

    def settle(self, dtype: torch.dtype = torch.float32) -> State:
        """Prepare for many steps: make tensors contiguous, and masks additive."""
        for name, tensor in self.fixed.items():
            self.fixed[name] = additive(tensor, dtype) if name.endswith(MASK) else tensor.contiguous()
        return self

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i continue hypothesis `rows[i]`; `rows` (R',) may also widen or narrow the beam."""
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
        """Keep only these sentences (B',), in this order; the caller reorders the hypotheses.

        On a CPU, where most stay in place (`models.search.running.staying`), only the others are moved.
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
        """Return a state of these sentences (B',) alone, before their first token."""
        fixed = {name: tensor.index_select(0, sentences) for name, tensor in self.fixed.items()}
        return State(fixed, cached=self.cached, shared=self.shared)

    def cut(self, words: Tensor) -> None:
        """Cut each hypothesis to its first `words` (R,) words, 1 or more; all hypotheses must have begun together.

        The last words are aligned at the end, so that all continue in step: shorter hypotheses begin later.
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
        """Add other sentences to be decoded after these in the batch; the last words of all are aligned.

        Args:
            others: state of the same model, settled.
            rows: hypotheses in this state, R.
            joining: hypotheses in the other state.
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
        """Put the words of other sentences beside those of these, aligned to finish at `end`."""
        past = {}
        for name, like in (self.past | others.past).items():
            past[name] = like.new_zeros(_room(max(end, 1)), rows + joining, like.size(2))
            for state, columns in ((self, slice(rows)), (others, slice(rows, None))):
                if name in state.past:
                    past[name][end - state.position : end, columns] = state.ordered(state.past[name])
        self.past, self.columns = past, None

    def _own(self, rows: int, room: int) -> Tensor:
        """Return columns (R, room) in which each hypothesis has its own."""
        device = next(iter(self.fixed.values())).device
        return torch.arange(rows, device=device)[:, None].repeat(1, room)

    def ordered(self, cache: Tensor) -> Tensor:
        """Return what all words so far have left, (..., position, R, X), each hypothesis in its own column."""
        if self.columns is None:
            return cache[..., : self.position, :, :]
        first = torch.arange(self.position, device=cache.device)[:, None] * cache.size(-2)
        index = first + self.columns[:, : self.position].T
        return cache.flatten(-3, -2).index_select(-2, index.flatten()).unflatten(-2, index.shape)

    def lengths(self, sentences: Tensor) -> dict[str, int]:
        """Return the lengths to which tensors can be cropped for these sentences, if only others needed more."""
        masks = hidden_by(self.fixed)
        needed = {name: self._needed(name, sentences) for name in dict.fromkeys(masks.values())}
        return {name: needed[mask] for name, mask in masks.items() if needed[mask] < self.fixed[mask].size(-1)}

    def _needed(self, name: str, sentences: Tensor) -> int:
        """Return the length up to which a mask lets any of these sentences see something, at least 1."""
        mask = self.fixed[name]
        seen = (mask if mask.dtype == torch.bool else mask == 0)[sentences].flatten(0, -2).any(0).nonzero()
        return int(seen[-1]) + 1 if len(seen) else 1

    def _starts(self, rows: int, end: int) -> Tensor:
        """Return where each of `rows` hypotheses begins, (R,), if their last words are aligned at `end`."""
        if self.starts is None:
            device = next(iter(self.fixed.values())).device
            return torch.full((rows,), end - self.position, device=device)
        return self.starts + (end - self.position)

    def recall(self, memory: Memory) -> None:
        """Add what the preceding sentences left behind, if anything, to `fixed` as `memory.<name>`."""
        self.fixed |= {f"{MEMORY}{name}": tensor for name, tensor in memory.items()}

    def _forget(self, words: int) -> None:
        """Drop the first words, which precede every hypothesis's own."""
        if words == 0 or self.starts is None:
            return
        self.past = {name: cache[words:] for name, cache in self.past.items()}
        if self.columns is not None:
            self.columns = self.columns[:, words:]
        self.position -= words
        self.starts = self.starts - words


def hidden_by(names: Iterable[str]) -> dict[str, str]:
    """Map the names of keys, values and masks to the mask that hides their padding."""
    known = list(names)
    return {
        name: mask
        for mask in known
        if mask.endswith(MASK)
        for name in known
        if name == mask or (name.endswith((KEYS, VALUES)) and name.startswith(mask.removesuffix("mask")))
    }


def cropped(name: str, tensor: Tensor, length: int) -> Tensor:
    """Shorten a mask (..., S), or keys or values (..., S, X), to `length` tokens."""
    return tensor[..., :length] if name.endswith(MASK) else tensor[..., :length, :]


def _moves(sentences: Tensor) -> list[tuple[int, int]] | None:
    """Return the places that receive another sentence, and which; None if one would be overwritten before it is moved.

    Moving whole sentences one by one is ten times as fast as indexing all of them with torch. Not on a GPU, which
    would have to be synchronized, nor while gradients are recorded, which need the old contents.
    """
    if sentences.device.type != "cpu" or torch.is_grad_enabled():
        return None
    moves = [(place, moved) for place, moved in enumerate(sentences.tolist()) if place != moved]
    return moves if all(moved >= len(sentences) for _, moved in moves) else None


def _room(words: int) -> int:
    """Return the number of words that a cache for `words` has room for."""
    return -(-words // ROOM) * ROOM


def _joined(name: str, one: Tensor, other: Tensor) -> Tensor:
    """Concatenate two tensors (B, ...), both padded to the larger of each further dimension."""
    shape = [max(sizes) for sizes in zip(one.shape[1:], other.shape[1:], strict=True)]
    hidden = torch.finfo(one.dtype).min / 2 if name.endswith(MASK) else 0
    return torch.cat([_padded(tensor, shape, hidden) for tensor in (one, other)])


def _padded(tensor: Tensor, shape: list[int], value: float) -> Tensor:
    missing = [new - old for new, old in zip(shape, tensor.shape[1:], strict=True)]
    if not any(missing):
        return tensor
    return F.pad(tensor, [side for new in reversed(missing) for side in (0, new)], value=value)
