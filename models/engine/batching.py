"""Work of different sizes in batches of like ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import torch

from models.network.inference.graphs import says_no_memory

BATCH_TOKENS = 2048
"""Padded source tokens of a batch: on a CPU more of them gain nothing."""
GPU_BATCH_TOKENS = 8 * BATCH_TOKENS
"""There 256 sentences of 64 tokens take hardly longer than one."""

AT_ONCE = 16
"""Sentences that a CPU translates in a tenth of a second or two: somebody may wait for the next one."""


def batch_tokens(device: torch.device) -> int:
    """Padded source tokens of a batch on a device."""
    return BATCH_TOKENS if device.type == "cpu" else GPU_BATCH_TOKENS


def sentences_at_once(device: torch.device) -> int:
    """That are translated without a look at what has come meanwhile, where there are no steps to look between."""
    return AT_ONCE if device.type == "cpu" else 16 * AT_ONCE


Result = TypeVar("Result")
Work = Callable[[list[int]], Sequence[Result]]


def in_batches(
    sizes: Sequence[int], work: Work[Result], free: Callable[[], None], budget: int = BATCH_TOKENS
) -> list[Result]:
    """Do work in batches of like sizes and give the results in the order of the sizes.

    Args:
        sizes: tokens of each piece of work.
        work: takes the indices of a batch and gives a result for each; what the device has no memory for, it is given
            again in halves.
        free: gives back the device's memory that is kept for later batches; called before the halves are tried.
        budget: padded tokens of a batch; a larger piece is a batch of its own.
    """
    results: dict[int, Result] = {}
    for indices in _batches(sizes, budget):
        results |= zip(indices, in_parts(indices, work, free), strict=True)
    return [results[i] for i in range(len(sizes))]


def in_parts(indices: list[int], work: Work[Result], free: Callable[[], None]) -> Sequence[Result]:
    """What work gives for a batch, done in as many parts as it takes for the device to have memory for each.

    Raises:
        torch.OutOfMemoryError: there is none for one alone, after all has been given back.
    """
    with suppress(torch.OutOfMemoryError), want_of_memory():
        return work(indices)
    # Here nobody holds the frames, and with them the tensors, of what has failed.
    free()
    if len(indices) == 1:
        with want_of_memory():
            return work(indices)
    half = len(indices) // 2
    return [result for part in (indices[:half], indices[half:]) for result in in_parts(part, work, free)]


@contextmanager
def want_of_memory() -> Iterator[None]:
    """Around what CTranslate2 or torch computes, which may say in words alone that a device has no memory.

    Raises:
        torch.OutOfMemoryError: that is what was said.
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
