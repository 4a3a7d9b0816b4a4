"""A batcher on a lane that behaves as a test wants."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from models.bundle.requests import Options, Translation, TranslationRequest
from service.inference.backlog import Budget, Turn
from service.inference.batcher import Batcher
from service.inference.wire import Batch, Failure, Outcomes
from service.telemetry.metrics import Metrics

DIRECT = Options()
TURN = Turn("a flow", "interactive")


class Lanes:
    """One lane whose behaviour a test decides; `batches` is what it was given, `failure` what asking for it raises."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]]) -> None:
        self._behave = behave
        self._free = asyncio.Semaphore(1)
        self.batches: list[list[str]] = []
        self.failure: Exception | None = None

    async def translate(self, batch: Batch) -> Outcomes:
        """As the test wants it."""
        self.batches.append([request.source for request in batch.requests])
        return await self._behave(batch)

    async def acquire(self) -> "Lanes":
        """The lane, once it is free."""
        await self._free.acquire()
        if self.failure is not None:
            raise self.failure
        return self

    def release(self, _worker: "Lanes") -> None:
        """It is free."""
        self._free.release()


async def echo(batch: Batch) -> Outcomes:
    """The source is the translation; `bad` cannot be translated."""
    results = [
        Failure("invalid_request", "it is bad") if request.source == "bad" else translation(request.source)
        for request in batch.requests
    ]
    return Outcomes(tuple(results), 0.0)


def translation(text: str) -> Translation:
    """A translation of that text."""
    return Translation(text, 0.0, 0, 1, ())


async def until(holds: Callable[[], bool]) -> None:
    """Let the other tasks run until something holds."""
    while not holds():
        await asyncio.sleep(0)


class Bench:
    """A batcher on a lane, and what it counts."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]], *, deadline: float = 60.0) -> None:
        self.lanes = Lanes(behave)
        self.metrics = Metrics()
        self.batcher = Batcher(self.lanes, Budget(100, 4, 0.0), deadline=deadline, metrics=self.metrics)

    async def translate(self, source: str, turn: Turn = TURN) -> str:
        """Submit one sentence."""
        return (await self.batcher.submit(TranslationRequest(source), DIRECT, turn)).text
