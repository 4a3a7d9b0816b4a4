"""OpenTelemetry traces: off unless a collector is named, and made of names, numbers and codes only.

Code that traces is handed a `Tracer` of OpenTelemetry's API. The SDK, which samples and exports, is imported only if
traces are on. A span never holds a user's text, ids or keys, nor the message of an error, which may quote them.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import NoOpTracer, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.errors import SettingsError
from service.telemetry.build import release

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

NO_TRACER: Final[Tracer] = NoOpTracer()
"""Records nothing."""

_HEADER: Final = re.compile(r"[!#-'*+\-.0-9A-Z^-z|~]+[ \t]*=[ !#-+\--:<-\[\]-~\t]*")
"""A header for the collector in an environment variable, in OpenTelemetry's syntax."""
_TRACEPARENT = "traceparent"
_PATH = "/v1/traces"
_EXPORT_SECONDS = 5
_END_SECONDS = 2.0
"""How long a collector that does not answer may delay the end of a process."""


@contextmanager
def tracing(endpoint: str | None, *, ratio: float, process: str) -> Iterator[Tracer]:
    """Yield a tracer for one process; what it records is exported as it goes, and at the end.

    Args:
        endpoint: the collector's OTLP/HTTP address, without a path of its own; None: no traces.
        ratio: the part of the traces begun here that is recorded; for others, it was decided where they began.
        process: the role of this process: `http` or `worker`.

    Raises:
        SettingsError: an environment variable of OpenTelemetry's has an invalid value.
    """
    if endpoint is None:
        yield NO_TRACER
        return
    _check_headers()
    try:
        provider = _provider(endpoint, ratio, process)
    except ValueError as error:  # from the SDK, for a limit on spans; it may even be raised by an import
        raise SettingsError(f"OTEL_*: {error}") from None
    try:
        yield provider.get_tracer("antecedent")
    finally:
        ending = threading.Thread(target=provider.shutdown, daemon=True)  # the SDK's own limit is half a minute
        ending.start()
        ending.join(_END_SECONDS)


def _provider(endpoint: str, ratio: float, process: str) -> "TracerProvider":
    """Return what makes tracers whose spans are exported to the collector at `endpoint`.

    Raises:
        SettingsError, ValueError: the SDK refuses a number in an environment variable of OpenTelemetry's.
    """
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
    return provider


def _check_headers() -> None:
    """Make sure that the SDK can parse the headers: it would log one that it cannot, with any key in it."""
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
    """Open a span around the block, and make it current there; an error is noted by its type alone.

    The default `parent` is the current span; an empty context begins a trace.
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
    """Return a span as a W3C `traceparent`; None if it is not valid."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(of, Context()))
    return carrier.get(_TRACEPARENT)


def context_of(given: str | None) -> Context:
    """Return the context of a received W3C `traceparent`, empty if there is none or it is malformed.

    `tracestate`, in which a client may write what it likes, is ignored.
    """
    return TraceContextTextMapPropagator().extract({} if given is None else {_TRACEPARENT: given}, Context())


def note_error(code: str) -> None:
    """Record on the current span the stable code of the error that a client was told of."""
    trace.get_current_span().set_attribute("antecedent.error.code", code)


def current() -> trace.SpanContext:
    """Return the identity of the current span; invalid if there is none."""
    return trace.get_current_span().get_span_context()
