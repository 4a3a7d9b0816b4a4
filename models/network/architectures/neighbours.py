"""Context sentences shared by several sentences of a batch: each is encoded once, and gathered where it is read."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from torch import Tensor

from models.data.batches import pad

_H = TypeVar("_H", bound=Hashable)


def distinct(neighbours: Sequence[Sequence[_H]]) -> tuple[list[_H], Tensor]:
    """Deduplicate neighbours, and index those of each sentence of a batch.

    Returns:
        The U distinct neighbours, and an index (B, K) of them, counted from 1; 0 is none.
    """
    rows: dict[_H, int] = {}
    index = [[1 + rows.setdefault(neighbour, len(rows)) for neighbour in each] for each in neighbours]
    return list(rows), pad([numbers or [0] for numbers in index])


def gather(states: Tensor, index: Tensor) -> Tensor:
    """Gather each sentence's neighbour states, (B, K, M, ...), from all, (U, M, ...); any where `index` is 0."""
    return states[(index - 1).clamp(min=0)]


def visible(real: Tensor, index: Tensor) -> Tensor:
    """Return the attention mask of the gathered states, (B, 1, 1, K x M), from that of all, (U, M).

    A sentence without neighbours sees one token, lest attention divide by zero; the result is never read.
    """
    seen = (gather(real, index) & index.gt(0)[:, :, None]).flatten(1)
    seen[:, 0] |= ~seen.any(1)
    return seen[:, None, None]
