"""Work of different sizes in batches of like ones."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

BATCH_TOKENS = 2048
"""Padded source tokens of a batch: on a CPU more of them gain nothing."""

Result = TypeVar("Result")


def in_batches(sizes: Sequence[int], work: Callable[[list[int]], Sequence[Result]]) -> list[Result]:
    """Do work in batches of like sizes and give the results in the order of the sizes.

    Args:
        sizes: tokens of each piece of work.
        work: takes the indices of a batch and gives a result for each.
    """
    results: dict[int, Result] = {}
    for indices in _batches(sizes):
        results |= zip(indices, work(indices), strict=True)
    return [results[i] for i in range(len(sizes))]


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        # Sorted by size, so the first of a batch is its longest.
        if batch and (len(batch) + 1) * sizes[batch[0]] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
