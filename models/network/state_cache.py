"""Context states that are kept from one batch to the next.

The states kept for an input depend on that input alone, without padding, so they are valid for it in any batch.
"""

from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor

from models.data.tokenizer import PAD
from models.network.recent import Recent

CACHE_BYTES = 64 * 2**20
"""A token's state of width 512 takes 2 KiB: room for some hundreds of sentences, of a hundred sessions of a worker."""

Compute = Callable[..., Sequence[Tensor]]
"""Computes states (U, X, E) of inputs (U, X): one per input, or only for the first of them."""

_Key = tuple[bytes, ...]


class StateCache:
    """The states of the most recently requested inputs, up to a limit in bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        """Keep at most `limit` bytes between two calls."""
        self.kept: Final[Recent[_Key, list[Tensor]]] = Recent(limit)
        """The cached states by input."""

    def states(self, compute: Compute, *inputs: Tensor) -> list[Tensor]:
        """Return what `compute` gives, calling it only once for each distinct input that is not kept.

        Args:
            compute: a pure function, whose result for a row does not depend on the other rows.
            inputs: ids (U, X), padded on the right; the same row of each belongs together.

        Returns:
            The states as `compute` returns them, zero at padding.
        """
        lengths = list(zip(*(ids.ne(PAD).sum(1).tolist() for ids in inputs), strict=True))
        keys = _keys(inputs, lengths)
        rows = {key: row for row, key in enumerate(keys)}
        found = {key: states for key in rows if (states := self.kept.get(key)) is not None}
        if new := [key for key in rows if key not in found]:
            found |= zip(new, _apart(compute, inputs, lengths, [rows[key] for key in new]), strict=True)
        for key in new:
            self.kept.put(key, found[key], sum(states.nbytes for states in found[key]))
        together = zip(*(found[key] for key in keys), strict=True)
        return [_padded(states, ids.size(1)) for states, ids in zip(together, inputs, strict=False)]


def _keys(inputs: Sequence[Tensor], lengths: Sequence[Sequence[int]]) -> list[_Key]:
    rows = zip(*(ids.numpy(force=True) for ids in inputs), strict=True)
    return [
        tuple(ids[:length].tobytes() for ids, length in zip(row, each, strict=True))
        for row, each in zip(rows, lengths, strict=True)
    ]


def _apart(
    compute: Compute, inputs: Sequence[Tensor], lengths: Sequence[Sequence[int]], rows: Sequence[int]
) -> list[list[Tensor]]:
    """Compute the states of some rows, each without padding and in its own memory."""
    own = [lengths[row] for row in rows]
    by_input = list(zip(*own, strict=True))
    longest = [max(sizes) for sizes in by_input]
    computed = compute(*(ids[rows, :size] for ids, size in zip(inputs, longest, strict=True)))
    kept = []
    for states, sizes in zip(computed, by_input, strict=False):
        copies = [states.new_empty(size, states.size(-1)) for size in sizes]
        torch._foreach_copy_(copies, _without_padding(states, sizes))
        kept.append(copies)
    return list(map(list, zip(*kept, strict=True)))


def _padded(states: Sequence[Tensor], length: int) -> Tensor:
    """Pad states to one tensor (U, X, E)."""
    joined = states[0].new_zeros(len(states), length, states[0].size(-1))
    torch._foreach_copy_(_without_padding(joined, [len(own) for own in states]), list(states))
    return joined


def _without_padding(states: Tensor, lengths: Sequence[int]) -> list[Tensor]:
    """Return views of the first `lengths` states of the rows of (U, X, E), split at once: one by one takes longer."""
    width = states.size(1)
    return list(states.flatten(0, 1).split([size for own in lengths for size in (own, width - own)])[::2])
