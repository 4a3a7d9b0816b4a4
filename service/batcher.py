"""Sentences of all clients into batches.

`Backlog` is the policy: plain data, no clock, no task. `Batcher` is the thin shell that feeds workers from it and sees
to it that every caller gets a result or an error, whatever happens.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from models.bundle.requests import Options, Translation, TranslationRequest
from service.errors import DeadlineError, QueueFullError, ShuttingDownError, WorkerDiedError
from service.metrics import Metrics
from service.wire import Batch, Failure, Outcomes
from service.workers import error_of

ATTEMPTS = 2
"""Workers that may die over a sentence before it is given up."""

_L = TypeVar("_L", bound="Lane")


@dataclass(eq=False, slots=True)
class Waiting:
    """A sentence in the queue; `since` is when it came in, in the clock of whoever asks the backlog."""

    request: TranslationRequest
    options: Options
    since: float
    future: asyncio.Future[Translation]
    attempts: int = 0

    @property
    def characters(self) -> int:
        """What it counts in a batch."""
        return len(self.request.source) + sum(len(sentence.source) for sentence in self.request.preceding)


@dataclass(frozen=True, slots=True)
class Budget:
    """When a batch is full, and for how many seconds one that is not full waits for more."""

    characters: int
    sentences: int
    wait: float


class Backlog:
    """What waits, oldest first."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._waiting: dict[Waiting, None] = {}  # keeps the order, forgets any element at once

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, waiting: Waiting) -> None:
        """Add one at the end."""
        self._waiting[waiting] = None

    def put_back(self, returned: Sequence[Waiting]) -> None:
        """Add some at the front: they have waited already."""
        self._waiting = dict.fromkeys(returned) | self._waiting

    def discard(self, waiting: Waiting) -> None:
        """Forget one, if it is still here: nobody waits for it."""
        self._waiting.pop(waiting, None)

    def due(self) -> float | None:
        """When the next batch may go: in the past (minus infinity) if it is full, None if nothing waits."""
        batch, full = self._next()
        if not batch:
            return None
        return float("-inf") if full else batch[0].since + self._budget.wait

    def pop(self) -> list[Waiting]:
        """Take the next batch out: the oldest sentence and those with the same options that fit.

        A sentence over which a worker has died goes alone, so that it can take no other with it.
        """
        batch, _ = self._next()
        for waiting in batch:
            del self._waiting[waiting]
        return batch

    def _next(self) -> tuple[list[Waiting], bool]:
        batch: list[Waiting] = []
        room = self._budget.characters
        for waiting in self._waiting:
            if batch and (waiting.options != batch[0].options or waiting.attempts > 0):
                continue
            if batch and waiting.characters > room:
                return batch, True
            batch.append(waiting)
            room -= waiting.characters
            if waiting.attempts > 0 or room <= 0 or len(batch) == self._budget.sentences:
                return batch, True
        return batch, False


class Lane(Protocol):
    """Something that translates one batch at a time: a worker."""

    async def translate(self, batch: Batch) -> Outcomes:
        """Results in the order of the batch; WorkerDiedError if there will be none."""


class Lanes(Protocol[_L]):
    """Where lanes come from: the pool of workers."""

    async def acquire(self) -> _L:
        """A lane with nothing to do."""

    def release(self, worker: _L) -> None:
        """Give it back."""


class Batcher(Generic[_L]):
    """Feeds the workers of one bundle; `submit` waits for a translation."""

    def __init__(self, lanes: Lanes[_L], budget: Budget, *, deadline: float, metrics: Metrics) -> None:
        self._lanes = lanes
        self._backlog = Backlog(budget)
        self._deadline = deadline
        self._metrics = metrics
        self._arrived = asyncio.Event()
        self._dispatcher: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """How many sentences are in the queue."""
        return len(self._backlog)

    def open(self) -> None:
        """Begin to dispatch."""
        self._dispatcher = asyncio.create_task(self._dispatch())

    async def close(self) -> None:
        """Stop; whoever still waits gets ShuttingDownError."""
        if self._dispatcher is not None:
            tasks = {self._dispatcher, *self._running}
            self._dispatcher = None
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        while batch := self._backlog.pop():
            _fail(batch, ShuttingDownError())

    async def submit(self, request: TranslationRequest, options: Options) -> Translation:
        """Queue a sentence and wait for its translation. A caller that is cancelled takes it out of the queue.

        Raises:
            RequestError: the model cannot translate it.
            DeadlineError: it took too long.
            WorkerDiedError: two workers died over it.
            ShuttingDownError: the service ends.
        """
        if self._dispatcher is None:
            raise ShuttingDownError
        loop = asyncio.get_running_loop()
        waiting = Waiting(request, options, loop.time(), loop.create_future())
        self._backlog.put(waiting)
        self._arrived.set()
        try:
            async with asyncio.timeout(self._deadline):
                return await waiting.future
        except TimeoutError:
            raise DeadlineError from None
        finally:
            self._backlog.discard(waiting)

    async def _dispatch(self) -> None:
        while True:
            await self._until_due()
            lane = await self._lanes.acquire()
            batch = self._backlog.pop()  # only now: while it waited for a lane, clients may have come and gone
            if not batch:
                self._lanes.release(lane)
                continue
            task = asyncio.create_task(self._run(lane, batch))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _until_due(self) -> None:
        clock = asyncio.get_running_loop().time
        while (due := self._backlog.due()) is None or due > clock():
            self._arrived.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._arrived.wait()

    async def _run(self, lane: _L, batch: list[Waiting]) -> None:
        self._observe_start(batch)
        try:
            outcomes = await lane.translate(Batch(batch[0].options, tuple(waiting.request for waiting in batch)))
            self._resolve(batch, outcomes)
        except WorkerDiedError as died:
            self._try_again(batch, died)
        except asyncio.CancelledError:
            _fail(batch, ShuttingDownError())
            raise
        except Exception as error:  # noqa: BLE001 - a bug of our own is for each caller to report, not to wait for
            _fail(batch, error)
        finally:
            self._metrics.running.dec(len(batch))
            self._lanes.release(lane)

    def _observe_start(self, batch: list[Waiting]) -> None:
        now = asyncio.get_running_loop().time()
        self._metrics.running.inc(len(batch))
        self._metrics.batch_sentences.observe(len(batch))
        for waiting in batch:
            self._metrics.queue_seconds.observe(now - waiting.since)

    def _resolve(self, batch: list[Waiting], outcomes: Outcomes) -> None:
        self._metrics.model_seconds.observe(outcomes.seconds)
        for waiting, result in zip(batch, outcomes.results, strict=True):
            if isinstance(result, Failure):
                _fail([waiting], error_of(result))
                continue
            self._metrics.sentences.inc()
            self._metrics.tokens.inc(result.tokens)
            if not waiting.future.done():
                waiting.future.set_result(result)

    def _try_again(self, batch: list[Waiting], died: WorkerDiedError) -> None:
        for waiting in batch:
            waiting.attempts += 1
        _fail([waiting for waiting in batch if waiting.attempts == ATTEMPTS], died)
        self._backlog.put_back([waiting for waiting in batch if not waiting.future.done()])
        self._arrived.set()


class Admission:
    """Bounds what waits in all batchers of this process.

    A use case is admitted before it does anything that would have to be undone.
    """

    def __init__(self, limit: int, batchers: Sequence[Batcher[Any]]) -> None:
        self._limit = limit
        self._batchers = batchers
        self._reserved = 0

    @property
    def waiting(self) -> int:
        """Sentences in all queues."""
        return sum(batcher.waiting for batcher in self._batchers)

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


def _fail(batch: Sequence[Waiting], error: Exception) -> None:
    for waiting in batch:
        if not waiting.future.done():
            waiting.future.set_exception(error)
