"""Feeds workers from the backlog, and sees to it that every caller gets a result or an error, whatever happens."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Generic, Protocol, TypeVar

from opentelemetry.trace import Tracer

from models.bundle.requests import Options, Translation, TranslationRequest
from service.errors import DeadlineError, ShuttingDownError, WorkerDiedError
from service.inference.backlog import Backlog, Budget, Priority, Turn, Waiting
from service.inference.batch_span import batch_span
from service.inference.wire import Batch, Failure, Outcomes
from service.inference.worker import error_of
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER, current

ATTEMPTS = 2
"""Workers that may die over a sentence before it is given up."""

_log = get_logger(__name__)

_L = TypeVar("_L", bound="Lane")


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
    """Feeds the workers of one bundle: `enqueue` takes a sentence, `submit` waits for its translation too."""

    def __init__(
        self, lanes: Lanes[_L], budget: Budget, *, deadline: float, metrics: Metrics, tracer: Tracer = NO_TRACER
    ) -> None:
        self._lanes = lanes
        self._backlog = Backlog(budget)
        self._deadline = deadline
        self._metrics = metrics
        self._tracer = tracer
        self._arrived = asyncio.Event()
        self._dispatcher: asyncio.Task[None] | None = None
        self._running: dict[asyncio.Task[None], list[Waiting]] = {}
        self._bug: Exception | None = None
        self._submitted: set[Waiting] = set()
        self._drained = asyncio.Event()
        self._drained.set()

    @property
    def alive(self) -> bool:
        """Whether what is queued gets to the workers: not before `open`, nor after `close` or a bug of our own."""
        return self._dispatcher is not None and self._bug is None

    @property
    def waiting(self) -> int:
        """How many sentences are in the queue."""
        return len(self._backlog)

    def waiting_of(self, priority: Priority) -> int:
        """How many sentences of one class are in the queue."""
        return self._backlog.of(priority)

    @property
    def flows(self) -> int:
        """How many documents and sessions have sentences in the queue."""
        return self._backlog.flows

    def ahead(self, flow: str, sentences: int) -> int:
        """What a flow's sentences to come wait for; see `Backlog.ahead`."""
        return self._backlog.ahead(flow, sentences)

    def open(self) -> None:
        """Begin to dispatch; whoever asks for that is no concern of the sentences' logs and traces."""
        self._dispatcher = asyncio.create_task(self._dispatch_until_bug(), context=Context())

    async def close(self) -> None:
        """Stop; whoever still waits gets ShuttingDownError."""
        if self._dispatcher is not None:
            tasks = {self._dispatcher, *self._running}
            self._dispatcher = None
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        while batch := self._backlog.pop():
            _fail(batch, ShuttingDownError)

    async def drained(self) -> None:
        """Wait until nobody waits for a translation."""
        await self._drained.wait()

    async def submit(self, request: TranslationRequest, options: Options, turn: Turn) -> Translation:
        """Queue a sentence and wait for its translation. A caller that is cancelled takes it out of the queue.

        Raises:
            AntecedentError: see `enqueue`.
        """
        return await self.enqueue(request, options, turn)

    def enqueue(self, request: TranslationRequest, options: Options, turn: Turn) -> asyncio.Future[Translation]:
        """Queue a sentence; gives its translation to come, which leaves the queue when it is cancelled.

        Raises:
            RequestError: the model cannot translate it.
            DeadlineError: it took too long.
            WorkerDiedError: two workers died over it.
            ShuttingDownError: the service ends.
            Exception: nothing is dispatched any more, because of this bug of our own.
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

        waiting.future.add_done_callback(forget)
        if self._bug is not None:
            waiting.future.set_exception(self._bug)
        elif self._dispatcher is None:
            _fail([waiting], ShuttingDownError)
        else:
            self._backlog.put(waiting)
            self._arrived.set()
        return waiting.future

    async def _dispatch_until_bug(self) -> None:
        try:
            await self._dispatch()
        except Exception as error:  # noqa: BLE001 - a bug of our own, which may be in the backlog: nothing goes on from here
            bug = self._bug = error
            _log.exception("dispatcher_failed")
            running = {waiting for batch in self._running.values() for waiting in batch}
            _fail(self._submitted - running, lambda: bug)

    async def _dispatch(self) -> None:
        while True:
            await self._until_due()
            lane = await self._lanes.acquire()
            batch = self._backlog.pop()  # only now: while it waited for a lane, clients may have come and gone
            if not batch:
                self._lanes.release(lane)
                continue
            task = asyncio.create_task(self._run(lane, batch))
            self._running[task] = batch
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        batch = self._running.pop(task)
        if task.cancelled():  # perhaps before its first step
            _fail(batch, ShuttingDownError)

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
            self._resolve(batch, await self._translate(lane, batch))
        except WorkerDiedError:
            self._try_again(batch)
        except Exception as error:  # noqa: BLE001 - a bug of our own is for each caller to report, not to wait for
            bug = error
            _fail(batch, lambda: bug)
        finally:
            self._metrics.running.dec(len(batch))
            self._lanes.release(lane)

    async def _translate(self, lane: _L, batch: list[Waiting]) -> Outcomes:
        requests = tuple(waiting.request for waiting in batch)
        with batch_span(self._tracer, batch, asyncio.get_running_loop().time()) as traceparent:
            return await lane.translate(Batch(batch[0].options, requests, traceparent))

    def _observe_start(self, batch: list[Waiting]) -> None:
        now = asyncio.get_running_loop().time()
        self._metrics.running.inc(len(batch))
        self._metrics.batch_sentences.observe(len(batch))
        self._metrics.batch_characters.observe(sum(waiting.characters for waiting in batch))
        for waiting in batch:
            self._metrics.queue_seconds.labels(waiting.turn.priority).observe(now - waiting.since)

    def _resolve(self, batch: list[Waiting], outcomes: Outcomes) -> None:
        self._metrics.model_seconds.observe(outcomes.seconds)
        self._metrics.context_states.labels("kept").inc(outcomes.cache_use.hits)
        self._metrics.context_states.labels("made").inc(outcomes.cache_use.misses)
        for waiting, result in zip(batch, outcomes.results, strict=True):
            if isinstance(result, Failure):
                _fail([waiting], partial(error_of, result))
                continue
            self._metrics.sentences.inc()
            self._metrics.tokens.inc(result.tokens)
            if not waiting.future.done():
                waiting.future.set_result(result)

    def _try_again(self, batch: list[Waiting]) -> None:
        for waiting in batch:
            waiting.attempts += 1
        if (bug := self._bug) is not None:
            _fail(batch, lambda: bug)
            return
        _fail([waiting for waiting in batch if waiting.attempts == ATTEMPTS], WorkerDiedError)
        self._backlog.put_back([waiting for waiting in batch if not waiting.future.done()])
        self._arrived.set()


def _fail(batch: Iterable[Waiting], error: Callable[[], Exception]) -> None:
    """Give each an error of its own: whoever gets it may say in it which sentence that was."""
    for waiting in batch:
        if not waiting.future.done():
            waiting.future.set_exception(error())
