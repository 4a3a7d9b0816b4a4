"""A batcher on a lane that behaves as a test wants."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from models.engine.requests import Options, Translation, TranslationRequest
from service.inference.backlog import Budget, Turn
from service.inference.batcher import Batcher
from service.inference.wire import PRIORITIES, Batch, Drop, Failure, Job, Order, Outcome, Outcomes
from service.telemetry.metrics import Metrics

DIRECT = Options()
TURN = Turn("a flow", "interactive")


class Lanes:
    """One lane whose behaviour a test decides.

    `batches` is what it was given, `dropped` what it was told to drop, `failure` what asking about it raises.
    """

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]]) -> None:
        self._behave = behave
        self._free = asyncio.Semaphore(1)
        self._running: set[asyncio.Task[None]] = set()
        self._said: asyncio.Queue[Outcomes | Exception] = asyncio.Queue()
        self.batches: list[list[str]] = []
        self.dropped: list[int] = []
        self.failure: Exception | None = None

    @property
    def alive(self) -> bool:
        """Always, unless asking fails."""
        if self.failure is not None:
            raise self.failure
        return True

    def send(self, order: Order) -> None:
        """Begin with a batch beside others, or note what is to be dropped, and say so."""
        if isinstance(order, Drop):
            self.dropped.append(order.number)
            self._said.put_nowait(Outcomes((Outcome(order.number, None),), 0.0))
            return
        self.batches.append([job.request.source for job in order.jobs])
        task = asyncio.create_task(self._run(order))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def receive(self) -> Outcomes:
        """What is done next; with an error, nothing more of what it was given."""
        said = await self._said.get()
        if isinstance(said, Exception):
            for task in self._running:
                task.cancel()
            self._said = asyncio.Queue()
            raise said
        return said

    async def acquire(self) -> "Lanes":
        """The lane, once it is free."""
        await self._free.acquire()
        return self

    def outgrown(self, _lane: "Lanes") -> bool:
        """It never is."""
        return False

    def release(self, _lane: "Lanes") -> None:
        """It is free."""
        self._free.release()

    async def _run(self, batch: Batch) -> None:
        try:
            self._said.put_nowait(await self._behave(batch))
        except Exception as error:  # noqa: BLE001 - a test decides which
            self._said.put_nowait(error)


async def echo(batch: Batch) -> Outcomes:
    """The source is the translation; `bad` cannot be translated."""
    return Outcomes(tuple(_echoed(job) for job in batch.jobs), 0.0)


def _echoed(job: Job) -> Outcome:
    source = job.request.source
    return Outcome(job.number, Failure("invalid_request", "it is bad") if source == "bad" else translation(source))


def translation(text: str) -> Translation:
    """A translation of that text."""
    return Translation(text, 0.0, 0, 1, ())


async def until(holds: Callable[[], bool]) -> None:
    """Let the other tasks run until something holds."""
    while not holds():
        await asyncio.sleep(0)


def queued(batcher: Batcher[Any]) -> int:
    """How many sentences are in the queue, of any class."""
    return sum(map(batcher.waiting_of, PRIORITIES))


class Bench:
    """A batcher on a lane, and what it counts."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]], *, deadline: float = 60.0) -> None:
        self.lanes = Lanes(behave)
        self.metrics = Metrics()
        self.batcher = Batcher(self.lanes, Budget(100, 4, 0.0), deadline=deadline, metrics=self.metrics)

    async def translate(self, source: str, turn: Turn = TURN) -> str:
        """Submit one sentence."""
        return (await self.batcher.submit(TranslationRequest(source), DIRECT, turn)).text
