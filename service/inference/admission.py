"""How much may wait in one process."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from service.errors import QueueFullError
from service.inference.batcher import Batcher


class Admission:
    """Bounds what waits in all batchers of this process.

    A use case is admitted before it does anything that would have to be undone. `batchers` gives those that there are
    now: models come and go.
    """

    def __init__(self, limit: int, batchers: Callable[[], Collection[Batcher[Any]]]) -> None:
        self._limit = limit
        self._batchers = batchers
        self._reserved = 0

    @property
    def waiting(self) -> int:
        """Sentences in all queues."""
        return sum(batcher.waiting for batcher in self._batchers())

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Keep a place until the end of the block, after which comes `submit` at once.

        Raises:
            QueueFullError: there is none.
        """
        if self.waiting + self._reserved >= self._limit:
            raise QueueFullError
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1
