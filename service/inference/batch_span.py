"""How a batch appears in the traces of the requests that it serves."""

import time
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, Status, StatusCode, Tracer

from service.inference.backlog import Waiting
from service.telemetry.tracing import traceparent


class BatchSpan:
    """A span from when a batch is given to a worker until its last sentence has left it, which ends the span.

    The span belongs to the trace of the batch's first request that is sampled, and links to every request. The time
    that each request has waited is a span in its own trace, which links to the batch.
    """

    def __init__(self, tracer: Tracer, batch: Sequence[Waiting], now: float) -> None:
        """Begin the span; `now` is by the same clock as `Waiting.since`."""
        self._left = len(batch)
        self._span: Span | None = None
        requests = _by_request(batch)
        if requests:
            origins = [group[0].origin for group in requests]
            parent = next((origin for origin in origins if origin.trace_flags.sampled), origins[0])
            links = [Link(origin) for origin in origins]
            self._span = tracer.start_span("batch", _under(parent), attributes=_attributes(batch), links=links)
            _record_waits(tracer, requests, now, Link(self._span.get_span_context()))

    @property
    def traceparent(self) -> str | None:
        """The parent of the worker's span, if there is one."""
        return None if self._span is None else traceparent(self._span)

    def leave(self, error: str | None = None) -> None:
        """Note that one sentence is done, or was lost through an error of the given type."""
        self._left -= 1
        if self._span is None:
            return
        if error is not None:
            self._span.set_status(Status(StatusCode.ERROR, error))
        if self._left == 0:
            self._span.end()


def _attributes(batch: Sequence[Waiting]) -> dict[str, int]:
    characters = sum(waiting.characters for waiting in batch)
    return {"antecedent.sentences": len(batch), "antecedent.characters": characters}


def _by_request(batch: Sequence[Waiting]) -> list[list[Waiting]]:
    groups: dict[tuple[int, int], list[Waiting]] = {}
    for waiting in batch:
        if waiting.origin.is_valid:
            groups.setdefault((waiting.origin.trace_id, waiting.origin.span_id), []).append(waiting)
    return list(groups.values())


def _record_waits(tracer: Tracer, requests: Sequence[Sequence[Waiting]], now: float, link: Link) -> None:
    end = time.time_ns()
    for group in requests:
        seconds = now - min(waiting.since for waiting in group)
        tracer.start_span(
            "queue",
            _under(group[0].origin),
            attributes={"antecedent.sentences": len(group)},
            links=[link],
            start_time=end - int(seconds * 1e9),
        ).end(end)


def _under(parent: SpanContext) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(parent), Context())
