"""When requests are sent: so many at a time (closed loop), or as they come, however slow the answers (open loop)."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

_T = TypeVar("_T")


async def at_most(limit: int, work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Do all of the work, so many pieces at a time; results in its order."""
    turns = asyncio.Semaphore(limit)

    async def one(piece: Coroutine[Any, Any, _T]) -> _T:
        async with turns:
            return await piece

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(piece)) for piece in work]
    return [task.result() for task in tasks]


async def closed_loop(clients: int, seconds: float, send: Callable[[], Awaitable[_T]]) -> list[_T]:
    """For so long, let each client send its next request when the last one is answered; results as they came."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    results: list[_T] = []

    async def client() -> None:
        while clock() < end:
            results.append(await send())

    await asyncio.gather(*(client() for _ in range(clients)))
    return results


async def open_loop(
    rate: float, seconds: float, send: Callable[[], Coroutine[Any, Any, _T]], rng: random.Random
) -> list[_T]:
    """For so long, send requests at random moments, `rate` a second on average; waits for every answer in the end."""
    clock = asyncio.get_running_loop().time
    due = clock()
    end = due + seconds
    sent: list[asyncio.Task[_T]] = []
    while (due := due + rng.expovariate(rate)) < end:
        await asyncio.sleep(due - clock())
        sent.append(asyncio.create_task(send()))
    return list(await asyncio.gather(*sent))
