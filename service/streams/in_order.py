"""Concurrent work, with results in the order in which it was begun. Knows nothing of sockets or sentences."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class InOrder(Generic[_T]):
    """Runs pieces of work, of which at most `most` may be begun without their results having been dealt with."""

    def __init__(self, most: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._begun: list[asyncio.Task[_T]] = []
        self._queue: asyncio.Queue[asyncio.Task[_T] | None] = asyncio.Queue()

    @property
    def under_way(self) -> int:
        """Pieces of work whose results have not been dealt with."""
        return len(self._begun)

    async def room(self) -> None:
        """Wait until one more may begin; call `begin` next."""
        await self._room.acquire()

    def begin(self, work: Coroutine[Any, Any, _T]) -> None:
        """Start work for which there is room."""
        task = asyncio.create_task(work)
        self._begun.append(task)
        self._queue.put_nowait(task)

    def end(self) -> None:
        """Say that nothing more will begin: `results` ends after the last."""
        self._queue.put_nowait(None)

    async def results(self) -> AsyncIterator[_T]:
        """Yield the result of each, in order; one counts as dealt with when the next is asked for.

        Raises:
            Exception: whatever was raised by the work whose turn it is.
        """
        while (task := await self._queue.get()) is not None:
            yield await asyncio.shield(task)  # only `cancel` stops work, in its own order
            self._begun.remove(task)
            self._room.release()

    async def cancel(self) -> None:
        """Stop all that is under way, the newest first: each has stopped before the one begun before it is told to."""
        while self._begun:
            task = self._begun.pop()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
