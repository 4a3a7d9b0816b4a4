"""Reading from a disk that may not answer: it holds up nobody but who waits for what is read, and not for long."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, Generic, TypeVar

_T = TypeVar("_T")

READ_SECONDS: Final = 10.0
"""That a disk may take for what is read at a time."""


class DiskReader(Generic[_T]):
    """Reads one thing at a time; a disk that does not answer is asked for nothing more until it does."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._reading: Future[_T] | None = None

    async def read(self, read: Callable[[], _T]) -> _T:
        """What a function reads; what it raises is raised here.

        Raises:
            TimeoutError: the disk has not answered in time, or still owes what was read before; it says which.
        """
        async with self._one_at_a_time:
            if self._reading is not None and not self._reading.done():
                raise TimeoutError("the disk has not answered for a while")
            self._reading = _begin(read)
            try:
                async with asyncio.timeout(READ_SECONDS):
                    return await asyncio.wrap_future(self._reading)
            except TimeoutError:
                raise TimeoutError(f"the disk has not answered within {READ_SECONDS:g} s") from None


def _begin(read: Callable[[], _T]) -> Future[_T]:
    """Start to read, in a thread of its own: what keeps one of asyncio's pool for good is in everybody's way."""
    reading: Future[_T] = Future()
    reading.set_running_or_notify_cancel()
    Thread(target=_read_into, args=(reading, read), daemon=True).start()
    return reading


def _read_into(reading: Future[_T], read: Callable[[], _T]) -> None:
    try:
        reading.set_result(read())
    except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
        reading.set_exception(error)
