"""Being cancelled for good, where a library may let it pass."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def obeyed() -> Iterator[None]:
    """Whoever cancels the current task within this block has it cancelled by its end.

    Before Python 3.12 `asyncio.wait_for`, by which redis-py sends, gives its result and forgets that it was cancelled
    when both happen at once (https://github.com/python/cpython/issues/86296): a loop around it would go on for ever.

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
