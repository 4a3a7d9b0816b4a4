"""What waits for a worker, and which of it makes the next batch: plain data, no clock, no task."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext

from models.bundle.requests import Options, Translation, TranslationRequest

Priority = Literal["interactive", "bulk"]
"""Somebody waits for this very sentence, or for the whole document that it is part of."""


@dataclass(frozen=True, slots=True)
class Turn:
    """In whose turn a sentence is served: `flow` is the document or session that it belongs to."""

    flow: str
    priority: Priority


@dataclass(eq=False, slots=True)
class Waiting:
    """A sentence in the queue; `since` is when it came in, in the clock of whoever asks the backlog.

    `origin` is the span of the request that it comes from, for the traces.
    """

    request: TranslationRequest
    options: Options
    turn: Turn
    since: float
    future: asyncio.Future[Translation]
    attempts: int = 0
    origin: SpanContext = INVALID_SPAN_CONTEXT

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
