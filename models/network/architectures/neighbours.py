"""Context sentences that several sentences of a batch share: each is encoded once, and gathered where it is read."""

from collections.abc import Hashable, Sequence
from typing import TypeVar

from torch import Tensor

from models.data.batches import pad

_H = TypeVar("_H", bound=Hashable)


def distinct(neighbours: Sequence[Sequence[_H]]) -> tuple[list[_H], Tensor]:
    """Each neighbour once, and for each sentence of a batch which they are.

    Returns:
        The U distinct neighbours, and (B, K) their numbers, counted from 1; 0 is none.
    """
    rows: dict[_H, int] = {}
    index = [[1 + rows.setdefault(neighbour, len(rows)) for neighbour in each] for each in neighbours]
    return list(rows), pad([numbers or [0] for numbers in index])


def gather(states: Tensor, index: Tensor) -> Tensor:
    """For each sentence the states of its neighbours, (B, K, M, ...), of all, (U, M, ...); any in place of none."""
    return states[(index - 1).clamp(min=0)]


def visible(real: Tensor, index: Tensor) -> Tensor:
    """Mask of attention to the gathered states, (B, 1, 1, K x M), from that of all, (U, M).

    A sentence without neighbours sees something, lest attention divide by zero; nobody reads what comes of it.
    """
    seen = (gather(real, index) & index.gt(0)[:, :, None]).flatten(1)
    seen[:, 0] |= ~seen.any(1)
    return seen[:, None, None]
