"""Feeds workers from the backlog, and ensures that every caller gets a result or an error, whatever happens."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from contextvars import Context
from functools import partial
from itertools import count
from typing import Any, Generic, TypeVar

from opentelemetry.trace import Tracer

from models.engine.requests import Options, Translation, TranslationRequest
from service.errors import DeadlineError, ShuttingDownError, WorkerDiedError
from service.inference.backlog import Backlog, Budget, Turn, Waiting
from service.inference.batch_span import BatchSpan
from service.inference.lanes import Lane, Lanes, Load
from service.inference.wire import PRIORITIES, Batch, Drop, Failure, Outcome, Outcomes, Priority
from service.inference.worker import error_of
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER, current

ATTEMPTS = 2
"""How many workers may die over a sentence before it is given up."""

_log = get_logger(__name__)

_L = TypeVar("_L", bound=Lane)


class Batcher(Generic[_L]):
    """Feeds the workers of one bundle: `enqueue` queues a sentence, `submit` also waits for its translation."""

    def __init__(
        self, lanes: Lanes[_L], budget: Budget, *, deadline: float, metrics: Metrics, tracer: Tracer = NO_TRACER
    ) -> None:
        self._lanes = lanes
        self._backlog = Backlog(budget)
        self._deadline = deadline
        self._metrics = metrics
        self._tracer = tracer
        self._stirred = asyncio.Event()
        """Set when something has changed that may allow a sentence to go to a lane."""
        self._loads: dict[_L, Load] = {}
        self._numbers = count()
        self._open = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._bug: Exception | None = None
        self._submitted: set[Waiting] = set()
        self._drained = asyncio.Event()
        self._drained.set()

    @property
    def alive(self) -> bool:
        """Whether queued sentences get to the workers: not before `open`, nor after `close` or a bug of our own."""
        return self._open and self._bug is None

    @property
    def failed(self) -> bool:
        """Whether a bug of our own has stopped it for good."""
        return self._bug is not None

    def waiting_of(self, priority: Priority) -> int:
        """Return how many sentences of one class are in the queue."""
        return self._backlog.of(priority)

    @property
    def flows(self) -> int:
        """How many documents and sessions have sentences in the queue."""
        return self._backlog.flows

    def ahead(self, flow: str, sentences: int) -> int:
        """Return how many sentences go before those that a flow is about to add; see `Backlog.ahead`."""
        return self._backlog.ahead(flow, sentences)

    def open(self) -> None:
        """Begin to dispatch, in a fresh context: the caller has no place in the sentences' logs and traces."""
        self._open = True
        self._start(self._until_bug(self._dispatch))
        self._start(self._until_bug(self._take_lanes))

    async def close(self) -> None:
        """Stop; callers that still wait get ShuttingDownError."""
        if self._open:
            self._open = False
            for task in self._tasks:
                task.cancel()
            if self._tasks:  # none if a bug has ended them all
                await asyncio.wait(self._tasks)
        for load in self._loads.values():
            _fail(self._lose(load, ShuttingDownError), ShuttingDownError)
        _fail(self._backlog.clear(), ShuttingDownError)

    async def drained(self) -> None:
        """Wait until nobody waits for a translation."""
        await self._drained.wait()

    async def submit(self, request: TranslationRequest, options: Options, turn: Turn) -> Translation:
        """Queue a sentence and wait for its translation; cancelling the caller takes the sentence out of the queue.

        Raises:
            AntecedentError: see `enqueue`.
        """
        return await self.enqueue(request, options, turn)

    def enqueue(self, request: TranslationRequest, options: Options, turn: Turn) -> asyncio.Future[Translation]:
        """Queue a sentence and return the future of its translation; cancelling it withdraws the sentence.

        The errors below are raised by the future, not by the call.

        Raises:
            RequestError: the model cannot translate the sentence.
            DeadlineError: it took too long.
            WorkerDiedError: two workers died over it.
            ShuttingDownError: the service is shutting down.
            Exception: the bug of our own that has stopped all dispatching.
        """
        loop = asyncio.get_running_loop()
        waiting = Waiting(request, options, turn, loop.time(), loop.create_future(), origin=current())
        deadline = loop.call_later(self._deadline, _fail, [waiting], DeadlineError)
        self._submitted.add(waiting)
        self._drained.clear()

        def forget(_: asyncio.Future[Translation]) -> None:
            deadline.cancel()
            self._submitted.discard(waiting)
            if not self._submitted:
                self._drained.set()
            self._backlog.discard(waiting)
            self._drop(waiting)

        waiting.future.add_done_callback(forget)
        if self._bug is not None:
            waiting.future.set_exception(self._bug)
        elif not self._open:
            _fail([waiting], ShuttingDownError)
        else:
            self._backlog.put(waiting)
            self._stirred.set()
        return waiting.future

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _until_bug(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a bug of our own, perhaps in the backlog: nothing can go on
            bug = self._bug = error
            _log.exception("dispatcher_failed")
            _fail([waiting for waiting in self._submitted if self._place_of(waiting) is None], lambda: bug)

    async def _take_lanes(self) -> None:
        """Acquire every lane as it becomes available."""
        while True:
            lane = await self._lanes.acquire()
            self._loads[lane] = Load()
            self._start(self._listen(lane, self._loads[lane]))
            self._stirred.set()

    async def _dispatch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due = self._backlog.due() if self._with_room() else None
            overdue = due is not None and due <= clock()
            if overdue and self._give_next():
                continue
            self._stirred.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(None if overdue else due):
                    await self._stirred.wait()

    def _with_room(self) -> list[_L]:
        """Return the lanes that may be given work, least loaded first.

        While suspects (sentences that a worker has died over) wait and no lane is trying one, the least loaded lane is
        given nothing else until it is idle and can try them.
        """
        lanes = [lane for lane, load in self._loads.items() if lane.alive and not load.closed]
        lanes.sort(key=lambda lane: len(self._loads[lane]))
        wanted = self._backlog.suspects and not any(load.tries for load in self._loads.values())
        return lanes[1:] if wanted and lanes and len(self._loads[lanes[0]]) else lanes

    def _give_next(self) -> bool:
        """Give the next batch to the lane that has the least of its class; return False if no lane has room."""
        lanes = self._with_room()
        for priority in PRIORITIES:
            for lane in sorted(lanes, key=lambda lane: self._loads[lane].of(priority)[1]):
                load = self._loads[lane]
                if batch := self._backlog.pop(priority, *load.of(priority), idle=len(load) == 0):
                    self._give(lane, load, batch)
                    return True
        return False

    def _give(self, lane: _L, load: Load, batch: list[Waiting]) -> None:
        now = asyncio.get_running_loop().time()
        span = BatchSpan(self._tracer, batch, now)
        jobs = load.add(batch, self._numbers, span)
        self._metrics.running.inc(len(batch))
        self._metrics.batch_sentences.observe(len(load))
        self._metrics.batch_characters.observe(load.characters)
        for waiting in batch:
            self._metrics.queue_seconds.labels(waiting.turn.priority).observe(now - waiting.since)
        lane.send(Batch(batch[0].options, jobs, batch[0].turn.priority, span.traceparent))

    def _place_of(self, waiting: Waiting) -> tuple[_L, int] | None:
        """Return the lane that has a sentence, and the sentence's number there; None if no lane has it."""
        numbers = ((lane, load.number_of(waiting)) for lane, load in self._loads.items())
        return next(((lane, number) for lane, number in numbers if number is not None), None)

    def _drop(self, waiting: Waiting) -> None:
        """Tell the lane that has a sentence, if any, that nobody waits for it any longer."""
        if (place := self._place_of(waiting)) is not None:
            lane, number = place
            lane.send(Drop(number))

    async def _listen(self, lane: _L, load: Load) -> None:
        """Receive what a lane has finished, until it dies or is due to leave."""
        try:
            while not (load.leaves and len(load) == 0):
                self._resolve(load, await lane.receive())
                load.leaves = load.leaves or (not self._one_leaves() and self._lanes.outgrown(lane))
                self._stirred.set()
        except WorkerDiedError:
            self._try_again(self._lose(load, WorkerDiedError))
        except Exception as error:  # noqa: BLE001 - each caller must report a bug of our own, not wait forever
            bug = error
            _fail(self._lose(load, type(error)), lambda: bug)
        del self._loads[lane]
        self._lanes.release(lane)
        self._stirred.set()

    def _one_leaves(self) -> bool:
        """Return whether a lane is leaving: lanes with the same work grow alike, and must not all leave at once."""
        return any(load.leaves for load in self._loads.values())

    def _resolve(self, load: Load, outcomes: Outcomes) -> None:
        self._metrics.model_seconds.observe(outcomes.seconds)
        self._metrics.context_states.labels("kept").inc(outcomes.cache_use.hits)
        self._metrics.context_states.labels("made").inc(outcomes.cache_use.misses)
        for outcome in outcomes.outcomes:
            if (waiting := load.take(outcome.number)) is not None:
                self._metrics.running.dec()
                self._answer(waiting, outcome)

    def _answer(self, waiting: Waiting, outcome: Outcome) -> None:
        if isinstance(outcome.result, Failure):
            _fail([waiting], partial(error_of, outcome.result))
        elif outcome.result is not None:
            self._metrics.sentences.inc()
            self._metrics.tokens.inc(outcome.result.tokens)
            self._metrics.tokens_kept.inc(outcome.result.kept)
            if not waiting.future.done():
                waiting.future.set_result(outcome.result)

    def _lose(self, load: Load, error: type[Exception]) -> list[Waiting]:
        lost = load.lose(error.__name__)
        self._metrics.running.dec(len(lost))
        return lost

    def _try_again(self, batch: list[Waiting]) -> None:
        now = asyncio.get_running_loop().time()
        for waiting in batch:
            waiting.attempts += 1
            waiting.since = now  # the time that a worker had it does not count as waiting
        if (bug := self._bug) is not None:
            _fail(batch, lambda: bug)
            return
        _fail([waiting for waiting in batch if waiting.attempts == ATTEMPTS], WorkerDiedError)
        self._backlog.put_back([waiting for waiting in batch if not waiting.future.done()])


def _fail(batch: Iterable[Waiting], error: Callable[[], Exception]) -> None:
    """Fail each sentence with an error of its own: its receiver may add to it which sentence that was."""
    for waiting in batch:
        if not waiting.future.done():
            waiting.future.set_exception(error())
