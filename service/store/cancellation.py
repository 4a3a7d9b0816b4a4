"""Propagate cancellation where a library may swallow it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def propagating_cancellation() -> Iterator[None]:
    """Raise CancelledError at the end of the block if the current task was cancelled within it.

    Before Python 3.12, `asyncio.wait_for`, with which redis-py sends, returns its result and swallows the cancellation
    if both happen at once (https://github.com/python/cpython/issues/86296): a loop around it would go on for ever.

    Raises:
        asyncio.CancelledError: in place of what the block raised, if anything.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        yield
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
