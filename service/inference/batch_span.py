"""A batch in the traces of the requests that it serves."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Tracer

from service.inference.backlog import Waiting
from service.telemetry.tracing import span, traceparent


@contextmanager
def batch_span(tracer: Tracer, batch: Sequence[Waiting], now: float) -> Iterator[str | None]:
    """A span around a batch, and one for what each of its requests has waited; gives the batch's `traceparent`.

    A batch is in the trace of its first request that is recorded, and has a link to every request; the waits of all
    requests, each in its own trace, have a link to the batch. `now` is in the clock of `Waiting.since`.
    """
    requests = _by_request(batch)
    if not requests:
        yield None
        return
    origins = [group[0].origin for group in requests]
    parent = next((origin for origin in origins if origin.trace_flags.sampled), origins[0])
    attributes = {
        "antecedent.sentences": len(batch),
        "antecedent.characters": sum(waiting.characters for waiting in batch),
    }
    links = [Link(origin) for origin in origins]
    with span(tracer, "batch", parent=_under(parent), links=links, attributes=attributes) as current:
        _record_waits(tracer, requests, now, Link(current.get_span_context()))
        yield traceparent()


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
