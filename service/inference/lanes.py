"""The workers as the batcher sees them, and the work that each of them has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from service.inference.backlog import Waiting
from service.inference.batch_span import BatchSpan
from service.inference.wire import PRIORITIES, Job, Order, Outcomes, Priority

_L = TypeVar("_L", bound="Lane")


class Lane(Protocol):
    """Something that translates sentences while it is given more of them: a worker."""

    @property
    def alive(self) -> bool:
        """Whether it accepts work."""

    def send(self, order: Order) -> None:
        """Send it sentences, or tell it to drop one."""

    async def receive(self) -> Outcomes:
        """Return the next sentences that it has finished; raise WorkerDiedError if there will be none."""


class Lanes(Protocol[_L]):
    """Where lanes come from: the pool of workers."""

    async def acquire(self) -> _L:
        """Return an idle lane."""

    def outgrown(self, lane: _L) -> bool:
        """Return whether a lane should be given no more work, and be released once it is idle."""

    def release(self, lane: _L) -> None:
        """Give back a lane that is idle or dead."""


@dataclass(frozen=True, slots=True)
class _Given:
    waiting: Waiting
    span: BatchSpan


class Load:
    """The sentences that a worker was given and has not answered yet."""

    def __init__(self) -> None:
        self._given: dict[int, _Given] = {}
        self._numbers: dict[Waiting, int] = {}
        self._taken: dict[Priority, tuple[int, int]] = dict.fromkeys(PRIORITIES, (0, 0))
        self.leaves = False
        """Whether the worker is to get no more work, and to be released when it has finished what it has."""

    def __len__(self) -> int:
        return len(self._given)

    @property
    def closed(self) -> bool:
        """Whether nothing may be added: the worker leaves, or tries a suspect, which must be alone."""
        return self.leaves or self.tries

    @property
    def tries(self) -> bool:
        """Whether it has a suspect, which is a sentence that a worker has died over."""
        return any(waiting.attempts for waiting in self._numbers)

    @property
    def characters(self) -> int:
        """The characters of both classes together."""
        return sum(characters for characters, _ in self._taken.values())

    def of(self, priority: Priority) -> tuple[int, int]:
        """Return the number of characters and of sentences of one class."""
        return self._taken[priority]

    def add(self, batch: Sequence[Waiting], numbers: Iterator[int], span: BatchSpan) -> tuple[Job, ...]:
        """Add a batch; return it as the jobs to send to the worker, with numbers that it has never seen."""
        jobs = tuple(Job(number, waiting.request) for number, waiting in zip(numbers, batch, strict=False))
        for job, waiting in zip(jobs, batch, strict=True):
            self._given[job.number] = _Given(waiting, span)
            self._numbers[waiting] = job.number
            self._count(waiting, 1)
        return jobs

    def number_of(self, waiting: Waiting) -> int | None:
        """Return the number by which the worker knows a sentence; None if it does not have it."""
        return self._numbers.get(waiting)

    def take(self, number: int, error: str | None = None) -> Waiting | None:
        """Take out a sentence that is answered, or lost through an error of that type; None if it is not here."""
        given = self._given.pop(number, None)
        if given is None:
            return None
        del self._numbers[given.waiting]
        self._count(given.waiting, -1)
        given.span.leave(error)
        return given.waiting

    def lose(self, error: str) -> list[Waiting]:
        """Take out all sentences, lost through an error of that type."""
        return [waiting for number in list(self._given) if (waiting := self.take(number, error)) is not None]

    def _count(self, waiting: Waiting, times: int) -> None:
        characters, sentences = self._taken[waiting.turn.priority]
        self._taken[waiting.turn.priority] = characters + times * waiting.characters, sentences + times
