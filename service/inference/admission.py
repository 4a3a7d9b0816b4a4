"""How much may wait in one process."""

from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any, Self

from service.errors import QueueFullError
from service.inference.batcher import Batcher
from service.inference.wire import Priority

_FORESIGHT = 4
"""Sentences that a session must have room for to begin: those that are under way need less, and are refused later. To
break one off wastes what was translated of it."""
_DEPTH = 2
"""Times the limit is how deep documents may make the queue: the last sentence in it waits that long and no longer."""


class Admission:
    """Bounds what waits in all batchers of this process.

    What a request waits for is not the length of the queue but what goes before it: of every other document or session
    as many sentences as it has itself (`Backlog.ahead`). A use case is admitted before it does anything that would
    have to be undone. `batchers` gives those that there are now: models come and go.
    """

    def __init__(self, limit: int, batchers: Callable[[], Collection[Batcher[Any]]]) -> None:
        self._limit = limit
        self._batchers = batchers
        self._places: set[Place] = set()

    def waiting(self, priority: Priority) -> int:
        """Sentences of one class in all queues."""
        return sum(batcher.waiting_of(priority) for batcher in self._batchers())

    def reserve(self, flow: str, sentences: int = 1) -> "Place":
        """Keep a place for that many sentences of a flow, until they are in the queue.

        Raises:
            QueueFullError: too much goes before them.
        """
        queued = sum(batcher.ahead(flow, sentences) for batcher in self._batchers())
        to_come = sum(place.ahead(flow, sentences) for place in self._places)
        if queued + to_come >= self._limit:
            raise QueueFullError
        place = Place(flow, sentences, self._places)
        self._places.add(place)
        return place

    def welcome(self) -> None:
        """See whether somebody new may begin a session.

        Raises:
            QueueFullError: those who are here need the queue.
        """
        self.reserve("", _FORESIGHT).give_up()

    def share(self) -> int:
        """How many sentences each document may have in the queue, so that the last of them need not wait too long."""
        flows = sum(batcher.flows for batcher in self._batchers())
        return max(1, _DEPTH * self._limit // max(1, flows))


class Place:
    """A place in the queue for sentences to come; given up at the end of a `with` block, or before."""

    def __init__(self, flow: str, sentences: int, taken: "set[Place]") -> None:
        self._flow = flow
        self._sentences = sentences
        self._taken = taken

    def ahead(self, flow: str, sentences: int) -> int:
        """How many of the sentences to come go before that many of a flow; as `Backlog.ahead`."""
        return self._sentences if flow == self._flow else min(self._sentences, sentences)

    def give_up(self) -> None:
        """The sentences are in the queue, or will not come."""
        self._taken.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.give_up()
