"""The sentences that wait for a worker, and which of them form the next batch: plain data, no clock, no tasks."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from opentelemetry.trace import INVALID_SPAN_CONTEXT, SpanContext

from models.engine.requests import Options, Translation, TranslationRequest
from service.inference.wire import PRIORITIES, Priority


@dataclass(frozen=True, slots=True)
class Turn:
    """Whose turn a sentence is served in: `flow` is the document or session that it belongs to."""

    flow: str
    priority: Priority


@dataclass(eq=False, slots=True)
class Waiting:
    """A sentence in the queue; `since` is when it was queued, or queued again, by the clock of the backlog's caller.

    `origin` is the span of the request that it comes from, for tracing.
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
        """How many characters it counts for in a batch: its source and draft, and the sentences around it."""
        around = (*self.request.preceding, *self.request.following)
        read = sum(len(sentence.source) + len(sentence.target or "") for sentence in around)
        return len(self.request.source) + len(self.request.draft or "") + read


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of each class a worker may have at once, and how many seconds an incomplete batch waits for more."""

    characters: int
    sentences: int
    wait: float


class Backlog:
    """The waiting sentences: sessions and documents are kept apart, and within each class the flows take turns."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._suspects: dict[Waiting, None] = {}  # a dict keeps the order, and removes any element in O(1)
        self._tried = False  # whether the last batch for an idle worker was a suspect
        self._flows: dict[Priority, dict[str, dict[Waiting, None]]] = {priority: {} for priority in PRIORITIES}

    def of(self, priority: Priority) -> int:
        """Return how many sentences of one class wait."""
        suspects = sum(waiting.turn.priority == priority for waiting in self._suspects)
        return suspects + sum(len(flow) for flow in self._flows[priority].values())

    @property
    def suspects(self) -> bool:
        """Whether any sentence waits that a worker has died over."""
        return bool(self._suspects)

    @property
    def flows(self) -> int:
        """How many documents and sessions have sentences waiting."""
        return sum(len(flows) for flows in self._flows.values())

    def ahead(self, flow: str, sentences: int) -> int:
        """Return how many waiting sentences would go before the last of `sentences` that a flow adds now.

        That is everything the flow has here already and, from every other flow, at most as many sentences as this one
        would then have. So a long document does not hold up a short one.
        """
        own = sum(len(flows.get(flow, ())) for flows in self._flows.values())
        each = own + sentences
        others = sum(min(len(other), each) for other in self._all_flows()) - own
        return len(self._suspects) + own + others

    def put(self, waiting: Waiting) -> None:
        """Add a sentence at the end of its flow."""
        self._flows[waiting.turn.priority].setdefault(waiting.turn.flow, {})[waiting] = None

    def put_back(self, suspects: Sequence[Waiting]) -> None:
        """Add sentences that a worker has died over: each goes alone, those of sessions before those of documents."""
        together = [*self._suspects, *suspects]
        self._suspects = dict.fromkeys(sorted(together, key=lambda waiting: PRIORITIES.index(waiting.turn.priority)))

    def discard(self, waiting: Waiting) -> None:
        """Remove a sentence that nobody waits for any longer, if it is still here."""
        self._suspects.pop(waiting, None)
        flows = self._flows[waiting.turn.priority]
        flow = flows.get(waiting.turn.flow, {})
        flow.pop(waiting, None)
        if not flow:
            flows.pop(waiting.turn.flow, None)

    def due(self) -> float | None:
        """Return when the next batch may go: minus infinity (at once) if it is full, None if nothing waits."""
        if self._suspects:
            return float("-inf")
        due = map(self._due, PRIORITIES)
        return min((at for at in due if at is not None), default=None)

    def pop(self, priority: Priority, characters: int = 0, sentences: int = 0, *, idle: bool = True) -> list[Waiting]:
        """Take out the next batch of a class for a worker that has `characters` and `sentences` of that class already.

        The batch is the sentence whose turn it is, if the worker's budget is not used up, and those after it that have
        the same options and fit. A sentence that a worker has died over, of either class, goes to an `idle` worker and
        alone, so that it cannot take others down with it; between two of these, waiting sessions get a turn.
        """
        awaited = self._tried and self._flows["interactive"]
        if tries := bool(idle and self._suspects and not awaited):
            batch = list(islice(self._suspects, 1))
        else:
            batch, _ = self._next(priority, characters, sentences)
        if batch and idle:
            self._tried = tries
        for waiting in batch:
            self._take(waiting)
        return batch

    def clear(self) -> list[Waiting]:
        """Take out and return everything that waits."""
        everything = [*self._suspects, *(waiting for flow in self._all_flows() for waiting in flow)]
        for waiting in everything:
            self.discard(waiting)
        return everything

    def _due(self, priority: Priority) -> float | None:
        batch, full = self._next(priority, 0, 0)
        if not batch:
            return None
        return float("-inf") if full else min(waiting.since for waiting in batch) + self._budget.wait

    def _next(self, priority: Priority, characters: int, sentences: int) -> tuple[list[Waiting], bool]:
        batch: list[Waiting] = []
        room, most = self._budget.characters - characters, self._budget.sentences - sentences
        if room <= 0 or most <= 0:
            return batch, True
        for waiting in _round_robin(self._flows[priority].values()):
            if batch and waiting.options != batch[0].options:
                continue
            if batch and waiting.characters > room:
                return batch, True
            batch.append(waiting)
            room -= waiting.characters
            if room <= 0 or len(batch) == most:
                return batch, True
        return batch, False

    def _take(self, waiting: Waiting) -> None:
        """Take a sentence out, and move its flow to the end of the line."""
        self.discard(waiting)
        flows = self._flows[waiting.turn.priority]
        if waiting.turn.flow in flows:
            flows[waiting.turn.flow] = flows.pop(waiting.turn.flow)

    def _all_flows(self) -> Iterator[dict[Waiting, None]]:
        for flows in self._flows.values():
            yield from flows.values()


def _round_robin(flows: Iterable[Iterable[Waiting]]) -> Iterator[Waiting]:
    """Yield one sentence of each flow in turn, until all flows are exhausted."""
    turns = deque(map(iter, flows))
    while turns:
        waiting = next(turns[0], None)
        if waiting is None:
            turns.popleft()
        else:
            yield waiting
            turns.rotate(-1)
