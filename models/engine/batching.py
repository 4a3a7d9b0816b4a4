"""Splits work into batches of items of similar size."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch

from models.network.inference.graphs import says_no_memory

BATCH_TOKENS = 2048
"""Padded source tokens of a batch; on a CPU, larger batches gain nothing."""
GPU_BATCH_TOKENS = 8 * BATCH_TOKENS
"""The same on a GPU, where 256 sentences of 64 tokens take hardly longer than one."""

AT_ONCE = 16
"""Sentences that a CPU translates in one or two tenths of a second; not more, as somebody may wait for the next one."""


def batch_tokens(device: torch.device) -> int:
    """Return the padded source tokens of a batch on a device."""
    return BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS


def sentences_at_once(device: torch.device) -> int:
    """Return how many sentences to translate before looking for new ones, if there are no steps to look between."""
    return AT_ONCE if device.type == "cpu" else 16 * AT_ONCE


Result = TypeVar("Result")
Work = Callable[[list[int]], Sequence[Result]]


def in_batches(
    sizes: Sequence[int], work: Work[Result], free: Callable[[], None], budget: int = BATCH_TOKENS
) -> list[Result]:
    """Do work in batches of similar sizes, and return the results in the order of `sizes`.

    Args:
        sizes: tokens of each piece of work.
        work: takes the indices of a batch and returns a result for each; if the device has too little memory for a
            batch, it is called again with halves of it.
        free: gives back the device's memory that is cached for later batches; called before the halves are tried.
        budget: padded tokens of a batch; a larger piece is a batch of its own.
    """
    results: dict[int, Result] = {}
    for indices in _batches(sizes, budget):
        results |= zip(indices, in_parts(indices, work, free), strict=True)
    return [results[i] for i in range(len(sizes))]


def in_parts(indices: list[int], work: Work[Result], free: Callable[[], None]) -> Sequence[Result]:
    """Return the results of `work` for a batch, split into parts until the device has enough memory for each.

    Raises:
        torch.OutOfMemoryError: there is too little for a single item, even after everything cached has been freed.
    """
    with suppress(torch.OutOfMemoryError), want_of_memory():
        return work(indices)
    # Out here, nothing holds the frames of the failed call any more, and so its tensors.
    free()
    if len(indices) == 1:
        with want_of_memory():
            return work(indices)
    half = len(indices) // 2
    return [result for part in (indices[:half], indices[half:]) for result in in_parts(part, work, free)]


@contextmanager
def want_of_memory() -> Iterator[None]:
    """Turn errors of torch and CTranslate2 that only say in words that a device is out of memory into the proper type.

    Raises:
        torch.OutOfMemoryError: the device has too little memory.
    """
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if says_no_memory(str(error)):
            raise torch.OutOfMemoryError(str(error)) from None
        raise


def _batches(sizes: Sequence[int], budget: int) -> Iterator[list[int]]:
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        # Sorted by size, so the first of a batch is its longest.
        if batch and (len(batch) + 1) * sizes[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
