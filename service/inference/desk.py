"""What a worker has to do, and in which order.

Each distinct set of options has its own flow, and sentences of sessions flow apart from those of documents: a sentence
that somebody waits for is decoded as fast as if it were alone, not at the pace of a document's batch.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from opentelemetry.trace import Span, Tracer

from models.engine.flow import Flow
from models.engine.requests import CacheUse, Options, Translation, TranslationRequest
from models.errors import RequestError
from service.inference.wire import PRIORITIES, Batch, Drop, Failure, Job, Order, Outcome, Outcomes, Priority
from service.telemetry.tracing import context_of

BULK_SHARE: Final = 4
"""Documents get at least one in this many parts of the time, however busy the sessions are."""


class Translator(Protocol):
    """What a worker drives, in production `models.engine.runtime.Runtime`."""

    def flow(self, options: Options) -> Flow[TranslationRequest, Translation]:
        """Return a flow that translates requests as they come; raise RequestError if the options are not supported."""

    def cache_use(self) -> CacheUse:
        """Return how often states of the context were reused from an earlier request so far, and how often not."""


@dataclass
class _Group:
    """The sentences of one batch, until the last one is answered."""

    priority: Priority
    options: Options
    span: Span
    left: int


@dataclass
class _Turn:
    """A flow and the seconds it has had; a new flow starts with as many as the one that has had the least."""

    flow: Flow[TranslationRequest, Translation]
    seconds: float


class Desk:
    """Takes orders between the steps of its work, and reports what is done."""

    def __init__(self, translator: Translator, tracer: Tracer, clock: Callable[[], float] = time.perf_counter) -> None:
        self._translator = translator
        self._tracer = tracer
        self._clock = clock
        self._flows: dict[Priority, dict[Options, _Turn]] = {priority: {} for priority in PRIORITIES}
        self._bulk_step = 0.0
        """Duration of the last step for documents, in seconds."""
        self._since_bulk = 0.0
        """Seconds that sessions have had since that step while documents waited."""
        self._groups: dict[int, _Group] = {}
        self._done: list[Outcome] = []
        self._seconds = 0.0
        self._used = translator.cache_use()

    @property
    def busy(self) -> bool:
        """Whether there is something to do or to report."""
        return bool(self._groups or self._done)

    def take(self, order: Order) -> None:
        """Carry out an order: begin a batch of sentences, or drop a sentence."""
        began = self._clock()
        if isinstance(order, Drop):
            self._drop(order.number)
        else:
            self._begin(order)
        self._seconds += self._clock() - began

    def work(self) -> Outcomes | None:
        """Advance the flow whose turn it is by one step; return the sentences that are done, if any."""
        priority = self._turn()
        began = self._clock()
        turn = None if priority is None else self._step(self._flows[priority])
        seconds = self._clock() - began
        if turn is not None:
            turn.seconds += seconds
        self._seconds += seconds
        if priority == "bulk":
            self._bulk_step, self._since_bulk = seconds, 0.0
        else:
            self._since_bulk = self._since_bulk + seconds if self._flows["bulk"] else 0.0
        return self._said() if self._done else None

    def _turn(self) -> Priority | None:
        """Return whose turn it is: sessions go first, unless documents are owed their share."""
        waiting = [priority for priority in PRIORITIES if self._flows[priority]]
        if len(waiting) == len(PRIORITIES) and self._since_bulk > (BULK_SHARE - 1) * self._bulk_step:
            return "bulk"
        return waiting[0] if waiting else None

    def _step(self, flows: dict[Options, _Turn]) -> _Turn:
        """Advance the flow that has had the least time: a step of one may take as long as a hundred of another."""
        options, turn = min(flows.items(), key=lambda item: item[1].seconds)
        for number, translation in turn.flow.step():
            self._answer(number, translation)
        if not turn.flow.running:
            del flows[options]
        return turn

    def _begin(self, batch: Batch) -> None:
        """Begin the sentences of a batch that can be translated; a faulty one does not affect the others."""
        span = self._tracer.start_span("translate", context_of(batch.traceparent))
        group = _Group(batch.priority, batch.options, span, len(batch.jobs))
        self._groups |= {job.number: group for job in batch.jobs}
        self._add(batch.jobs, self._flows[batch.priority], batch.options)

    def _add(self, jobs: Sequence[Job], flows: dict[Options, _Turn], options: Options) -> None:
        """Add sentences to the flow of their options; answer those that cannot be translated.

        They are added together, since they have most of their context in common, and one by one only if one fails.
        """
        try:
            turn = flows.get(options) or self._new_turn(flows, options)
            turn.flow.add({job.number: job.request for job in jobs})
        except RequestError as error:
            if len(jobs) == 1:
                self._answer(jobs[0].number, Failure(error.code, str(error)))
                return
            for job in jobs:
                self._add([job], flows, options)
        else:
            flows[options] = turn

    def _new_turn(self, flows: dict[Options, _Turn], options: Options) -> _Turn:
        least = min((turn.seconds for turn in flows.values()), default=0.0)
        return _Turn(self._translator.flow(options), least)

    def _drop(self, number: int) -> None:
        """Stop work on a sentence, unless it has been answered already."""
        group = self._groups.get(number)
        if group is None:
            return
        flows = self._flows[group.priority]
        flows[group.options].flow.drop([number])
        if not flows[group.options].flow.running:
            del flows[group.options]
        self._answer(number, None)

    def _answer(self, number: int, result: Translation | Failure | None) -> None:
        self._done.append(Outcome(number, result))
        group = self._groups.pop(number)
        group.left -= 1
        if group.left == 0:
            group.span.end()

    def _said(self) -> Outcomes:
        used = self._translator.cache_use()
        outcomes = Outcomes(tuple(self._done), self._seconds, used - self._used)
        self._done, self._seconds, self._used = [], 0.0, used
        return outcomes
