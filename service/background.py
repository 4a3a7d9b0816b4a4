"""Work that goes on in tasks of its own while something else is done."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def in_background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do some work until the end of the block, which then waits until it has been cancelled."""
    tasks = {asyncio.create_task(each) for each in work}
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
