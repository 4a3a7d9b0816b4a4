"""What a worker has to do and in which order.

Each kind of options is a flow of its own, and sentences of sessions flow apart from those of documents: one for which
somebody waits is decoded at the pace at which it would be alone, not at that of a batch of a document.
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
"""Documents have one of this many parts of the time, however much the sessions have to do."""


class Translator(Protocol):
    """What a worker drives: `models.engine.runtime.Runtime`."""

    def check(self, request: TranslationRequest, options: Options) -> None:
        """Raise RequestError for what cannot be translated."""

    def flow(self, options: Options) -> Flow[TranslationRequest, Translation]:
        """A flow that translates requests that were checked, as they come."""

    def cache_use(self) -> CacheUse:
        """How often states of the context were kept from an earlier request, so far."""


@dataclass
class _Group:
    """The sentences of one batch, until the last is answered."""

    priority: Priority
    options: Options
    span: Span
    left: int


@dataclass
class _Turn:
    """A flow, and the seconds that it has had; one that begins is no further behind than the last of the others."""

    flow: Flow[TranslationRequest, Translation]
    seconds: float


class Desk:
    """Takes orders between the steps of its work, and says what is done."""

    def __init__(self, translator: Translator, tracer: Tracer, clock: Callable[[], float] = time.perf_counter) -> None:
        self._translator = translator
        self._tracer = tracer
        self._clock = clock
        self._flows: dict[Priority, dict[Options, _Turn]] = {priority: {} for priority in PRIORITIES}
        self._bulk_step = 0.0
        """Seconds that the last step of documents took."""
        self._since_bulk = 0.0
        """Seconds that sessions have had since then while documents waited."""
        self._groups: dict[int, _Group] = {}
        self._done: list[Outcome] = []
        self._seconds = 0.0
        self._used = translator.cache_use()

    @property
    def busy(self) -> bool:
        """Whether there is something to do or to say."""
        return bool(self._groups or self._done)

    def take(self, order: Order) -> None:
        """Begin with sentences, or go on without one."""
        began = self._clock()
        if isinstance(order, Drop):
            self._drop(order.number)
        else:
            self._begin(order)
        self._seconds += self._clock() - began

    def work(self) -> Outcomes | None:
        """Go on by a step of the flow whose turn it is; gives what is done, if anything is."""
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
        """Sessions go first, unless documents have waited for their share."""
        waiting = [priority for priority in PRIORITIES if self._flows[priority]]
        if len(waiting) == len(PRIORITIES) and self._since_bulk > (BULK_SHARE - 1) * self._bulk_step:
            return "bulk"
        return waiting[0] if waiting else None

    def _step(self, flows: dict[Options, _Turn]) -> _Turn:
        """Go on with the flow that has had the least time: one's step may take as long as a hundred of another's."""
        options, turn = min(flows.items(), key=lambda item: item[1].seconds)
        for number, translation in turn.flow.step():
            self._answer(number, translation)
        if not turn.flow.running:
            del flows[options]
        return turn

    def _begin(self, batch: Batch) -> None:
        """Begin with those that can be translated; what is wrong with one does not touch the others."""
        span = self._tracer.start_span("translate", context_of(batch.traceparent))
        group = _Group(batch.priority, batch.options, span, len(batch.jobs))
        self._groups |= {job.number: group for job in batch.jobs}
        sound = self._sound(batch.jobs, batch.options)
        if sound:
            flows = self._flows[batch.priority]
            if batch.options not in flows:
                least = min((turn.seconds for turn in flows.values()), default=0.0)
                flows[batch.options] = _Turn(self._translator.flow(batch.options), least)
            flows[batch.options].flow.add(sound)

    def _sound(self, jobs: Sequence[Job], options: Options) -> dict[int, TranslationRequest]:
        sound = {}
        for job in jobs:
            try:
                self._translator.check(job.request, options)
            except RequestError as error:
                self._answer(job.number, Failure(error.code, str(error)))
            else:
                sound[job.number] = job.request
        return sound

    def _drop(self, number: int) -> None:
        """Stop with a sentence, unless it is answered."""
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
