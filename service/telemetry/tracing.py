"""OpenTelemetry traces: off unless a collector is named, and then made of names, numbers and codes only.

Whoever traces is handed a `Tracer` of OpenTelemetry's API. The SDK, which samples and exports, is imported only where
traces are on. A span never holds text, ids or keys of a user, nor the message of an error, which may quote them.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.errors import SettingsError
from service.telemetry.build import release

NO_TRACER: Final[Tracer] = NoOpTracer()
"""Records nothing."""

_HEADER: Final = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+[ \t]*=[ !#-+\--:<-\[\]-~\t]*")
"""One of a collector's in an environment variable, as OpenTelemetry takes it."""
_TRACEPARENT = "traceparent"
_PATH = "/v1/traces"
_EXPORT_SECONDS = 5
_END_SECONDS = 2.0
"""A collector that does not answer holds up the end of a process for no longer than this."""


@contextmanager
def tracing(endpoint: str | None, *, ratio: float, process: str) -> Iterator[Tracer]:
    """A tracer for one process; what it has recorded is exported as it goes, and at the end.

    Args:
        endpoint: the collector's OTLP/HTTP address, without a path of its own; None: no traces.
        ratio: of the traces that begin here, how many are recorded; of others their beginning has decided.
        process: what this process is to the others: `http` or `worker`.

    Raises:
        SettingsError: a variable of OpenTelemetry's has a value that it cannot have.
    """
    if endpoint is None:
        yield NO_TRACER
        return
    _check_headers()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - costs time
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased  # noqa: PLC0415

    ours = Resource(
        {
            "service.name": "antecedent",
            "service.version": release(),
            "process.pid": os.getpid(),
            "antecedent.process": process,
        }
    )
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(ratio)),
        resource=ours.merge(OTELResourceDetector().detect()),  # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + _PATH, timeout=_EXPORT_SECONDS)
    try:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    except ValueError as error:
        raise SettingsError(f"OTEL_BSP_*: {str(error).removesuffix('.')}") from None
    try:
        yield provider.get_tracer("antecedent")
    finally:
        ending = threading.Thread(target=provider.shutdown, daemon=True)  # the SDK's own limit is half a minute
        ending.start()
        ending.join(_END_SECONDS)


def _check_headers() -> None:
    """See to it that the SDK can read them: one that it cannot it writes into the log, with the key that is in it."""
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        headers = filter(None, map(str.strip, os.environ.get(name, "").split(",")))
        if not all(map(_HEADER.fullmatch, headers)):
            raise SettingsError(f"{name}: must be name=value, name=value, ..., each value percent-encoded")


@contextmanager
def span(
    tracer: Tracer,
    name: str,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: Context | None = None,
    attributes: Mapping[str, str | int] | None = None,
) -> Iterator[Span]:
    """A span around the block, current in it; an error is noted by its type alone.

    `parent` None is the current span; an empty context begins a trace.
    """
    with tracer.start_as_current_span(
        name,
        parent,
        kind,
        attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


@contextmanager
def attached(context: Context) -> Iterator[None]:
    """Make a context current in the block."""
    token = attach(context)
    try:
        yield
    finally:
        detach(token)


def traceparent(of: Span) -> str | None:
    """A span as a W3C `traceparent`; None where it is none."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(of, Context()))
    return carrier.get(_TRACEPARENT)


def context_of(given: str | None) -> Context:
    """The context of a W3C `traceparent` from elsewhere, empty where there is none or it is malformed.

    `tracestate`, in which a client may write what it likes, is not taken over.
    """
    return TraceContextTextMapPropagator().extract({} if given is None else {_TRACEPARENT: given}, Context())


def note_error(code: str) -> None:
    """Say on the current span by which stable code a client was told of an error."""
    trace.get_current_span().set_attribute("antecedent.error.code", code)


def current() -> trace.SpanContext:
    """The identity of the current span; invalid where there is none."""
    return trace.get_current_span().get_span_context()
