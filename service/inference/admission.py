"""The limit on how much work may be queued in one process."""

from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any, Self

from service.errors import QueueFullError
from service.inference.batcher import Batcher
from service.inference.wire import Priority

_FORESIGHT = 4
"""Sentences that must fit in the queue before a new session may begin. A session under way needs room for one only, so
it is refused later: breaking it off would waste what has been translated of it."""
_DEPTH = 2
"""How deep documents may make the queue, as a multiple of the limit; this bounds how long its last sentence waits."""


class Admission:
    """Bounds what is queued in all batchers of this process.

    How long a request waits depends not on the length of the queue but on what goes before it: from every other
    document or session, at most as many sentences as it has itself (`Backlog.ahead`). A use case is admitted before it
    does anything that would have to be undone. `batchers` returns the current batchers, as models come and go.
    """

    def __init__(self, limit: int, batchers: Callable[[], Collection[Batcher[Any]]]) -> None:
        self._limit = limit
        self._batchers = batchers
        self._places: set[Place] = set()

    def waiting(self, priority: Priority) -> int:
        """Return the number of sentences of one class in all queues."""
        return sum(batcher.waiting_of(priority) for batcher in self._batchers())

    def reserve(self, flow: str, sentences: int = 1) -> "Place":
        """Reserve a place for a number of sentences of a flow, until they are in the queue.

        Raises:
            QueueFullError: too many sentences go before them.
        """
        queued = sum(batcher.ahead(flow, sentences) for batcher in self._batchers())
        to_come = sum(place.ahead(flow, sentences) for place in self._places)
        if queued + to_come >= self._limit:
            raise QueueFullError
        place = Place(flow, sentences, self._places)
        self._places.add(place)
        return place

    def check_new_session(self) -> None:
        """Check that a new session may begin.

        Raises:
            QueueFullError: the current sessions and documents need the queue.
        """
        self.reserve("", _FORESIGHT).give_up()

    def share(self) -> int:
        """Return how many sentences each document may have in the queue without making the last one wait too long."""
        flows = sum(batcher.flows for batcher in self._batchers())
        return max(1, _DEPTH * self._limit // max(1, flows))


class Place:
    """A place in the queue for sentences to come; given up at the end of a `with` block, or earlier."""

    def __init__(self, flow: str, sentences: int, taken: "set[Place]") -> None:
        self._flow = flow
        self._sentences = sentences
        self._taken = taken

    def ahead(self, flow: str, sentences: int) -> int:
        """Return how many of its sentences go before that many sentences of a flow, as `Backlog.ahead` does."""
        return self._sentences if flow == self._flow else min(self._sentences, sentences)

    def give_up(self) -> None:
        """Free the place: its sentences are in the queue now, or will not come."""
        self._taken.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.give_up()
