"""A batcher on a lane whose behaviour the test decides."""

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

    `batches` are the sources it was given, `dropped` the numbers it was told to drop; `alive` raises `failure`, if set.
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
        """Always true, unless a test makes asking fail."""
        if self.failure is not None:
            raise self.failure
        return True

    def send(self, order: Order) -> None:
        """Start a batch alongside any others, or note what is to be dropped and confirm it."""
        if isinstance(order, Drop):
            self.dropped.append(order.number)
            self._said.put_nowait(Outcomes((Outcome(order.number, None),), 0.0))
            return
        self.batches.append([job.request.source for job in order.jobs])
        task = asyncio.create_task(self._run(order))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def receive(self) -> Outcomes:
        """The next outcomes; an error is raised, and everything else in progress is abandoned."""
        said = await self._said.get()
        if isinstance(said, Exception):
            for task in self._running:
                task.cancel()
            self._said = asyncio.Queue()
            raise said
        return said

    async def acquire(self) -> "Lanes":
        """Wait until the lane is free."""
        await self._free.acquire()
        return self

    def outgrown(self, _lane: "Lanes") -> bool:
        """Never."""
        return False

    def release(self, _lane: "Lanes") -> None:
        """Mark the lane as free."""
        self._free.release()

    async def _run(self, batch: Batch) -> None:
        try:
            self._said.put_nowait(await self._behave(batch))
        except Exception as error:  # noqa: BLE001 - the test decides which one
            self._said.put_nowait(error)


async def echo(batch: Batch) -> Outcomes:
    """Translate each source into itself, but fail for `bad`."""
    return Outcomes(tuple(_echoed(job) for job in batch.jobs), 0.0)


def _echoed(job: Job) -> Outcome:
    source = job.request.source
    return Outcome(job.number, Failure("invalid_request", "it is bad") if source == "bad" else translation(source))


def translation(text: str) -> Translation:
    """A translation that says `text`."""
    return Translation(text, 0.0, 0, 1, ())


async def until(holds: Callable[[], bool]) -> None:
    """Let other tasks run until a condition holds."""
    while not holds():
        await asyncio.sleep(0)


def queued(batcher: Batcher[Any]) -> int:
    """How many sentences are queued, of all priority classes."""
    return sum(map(batcher.waiting_of, PRIORITIES))


class Bench:
    """A batcher on one such lane, with its metrics."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]], *, deadline: float = 60.0) -> None:
        self.lanes = Lanes(behave)
        self.metrics = Metrics()
        self.batcher = Batcher(self.lanes, Budget(100, 4, 0.0), deadline=deadline, metrics=self.metrics)

    async def translate(self, source: str, turn: Turn = TURN) -> str:
        """Submit one sentence."""
        return (await self.batcher.submit(TranslationRequest(source), DIRECT, turn)).text
