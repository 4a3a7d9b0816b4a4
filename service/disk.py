"""Read from a disk that may not respond, without blocking anything but the caller, and that only for a limited time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, Generic, TypeVar

_T = TypeVar("_T")

READ_SECONDS: Final = 10.0
"""How long a disk may take for one read."""


class DiskReader(Generic[_T]):
    """Does one read at a time; a disk that does not respond gets no further ones until it does."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._reading: Future[_T] | None = None

    async def read(self, read: Callable[[], _T]) -> _T:
        """Call a function that reads from the disk, and return its result; its errors are raised here.

        Raises:
            TimeoutError: the disk has not responded in time, or not yet to an earlier read; the message says which.
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
    """Start a read in a thread of its own: one that hangs must not occupy a thread of asyncio's pool."""
    reading: Future[_T] = Future()
    reading.set_running_or_notify_cancel()
    Thread(target=_read_into, args=(reading, read), daemon=True).start()
    return reading


def _read_into(reading: Future[_T], read: Callable[[], _T]) -> None:
    try:
        reading.set_result(read())
    except Exception as error:  # noqa: BLE001 - it is raised where the result is awaited
        reading.set_exception(error)
