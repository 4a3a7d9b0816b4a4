"""States of context that are kept from one batch to the next.

What is kept of an input is what it leads to alone, without padding: so it stands for the same input in any batch.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from models.data.tokenizer import PAD
from models.network.recent import Recent

CACHE_BYTES = 64 * 2**20
"""Each token is 2 KiB of a state of width 512: some hundreds of sentences, those of a hundred sessions of a worker."""

Compute = Callable[..., Sequence[Tensor]]
"""Gives states (U, X, E) of inputs (U, X): one for each, or for the first ones of them."""

_Key = tuple[bytes, ...]


class StateCache:
    """The states of the inputs that were asked for most recently, up to so many bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        """Keep at most `limit` bytes between two calls."""
        self._kept: Recent[_Key, list[Tensor]] = Recent(limit)

    @property
    def kept(self) -> Recent[_Key, list[Tensor]]:
        """The states by input."""
        return self._kept

    def states(self, compute: Compute, *inputs: Tensor) -> list[Tensor]:
        """What `compute` gives, which sees each input that is not kept once.

        Args:
            compute: depends on nothing else that changes, and for no input on what it is given beside it.
            inputs: ids (U, X), padded on the right; row by row they belong together.

        Returns:
            As of `compute`, zero at padding.
        """
        lengths = list(zip(*(ids.ne(PAD).sum(1).tolist() for ids in inputs), strict=True))
        keys = _keys(inputs, lengths)
        rows = {key: row for row, key in enumerate(keys)}
        found = {key: states for key in rows if (states := self._kept.get(key)) is not None}
        if new := [key for key in rows if key not in found]:
            found |= zip(new, _apart(compute, inputs, lengths, [rows[key] for key in new]), strict=True)
        for key in new:
            self._kept.put(key, found[key], sum(states.nbytes for states in found[key]))
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
    """The states of some rows, each without padding and in memory of its own."""
    own = [lengths[row] for row in rows]
    longest = [max(sizes) for sizes in zip(*own, strict=True)]
    computed = compute(*(ids[rows, :size] for ids, size in zip(inputs, longest, strict=True)))
    found = [
        [states[place, :length] for states, length in zip(computed, sizes, strict=False)]
        for place, sizes in enumerate(own)
    ]
    kept = [[torch.empty_like(states) for states in each] for each in found]
    torch._foreach_copy_([states for each in kept for states in each], [states for each in found for states in each])
    return kept


def _padded(states: Sequence[Tensor], length: int) -> Tensor:
    """As one tensor (U, X, E)."""
    joined = states[0].new_zeros(len(states), length, states[0].size(-1))
    torch._foreach_copy_([row[: len(own)] for row, own in zip(joined.unbind(), states, strict=True)], list(states))
    return joined
