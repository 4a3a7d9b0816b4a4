"""Tracing costs nothing when it is off, and records nothing that a user has written when it is on."""

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from service.errors import SettingsError
from service.telemetry.tracing import NO_TRACER, context_of, span, traceparent, tracing
from tests.support.servers import ROOT

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_off_means_no_tracer_and_no_sdk() -> None:
    """Without a collector the SDK and exporter are not even imported, and spans are no-ops."""
    program = (
        "import sys, service.__main__\n"
        "from service.telemetry.tracing import tracing\n"
        "with tracing(None, ratio=1, process='http'): pass\n"
        "print([name for name in ('opentelemetry.sdk.trace', 'opentelemetry.exporter') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n"
    with tracing(None, ratio=1, process="http") as tracer, span(tracer, "anything") as none:
        assert tracer is NO_TRACER
        assert traceparent(none) is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
        ("OTEL_SPAN_LINK_COUNT_LIMIT", "many"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,api-key: himitsu"),
        ("OTEL_EXPORTER_OTLP_HEADERS", 'api-key="himitsu"'),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "himitsu"),
    ],
)
def test_variables_of_opentelemetry_that_cannot_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, variable: str, value: str
) -> None:
    """The error says so; no key gets into it or into the log."""
    monkeypatch.setenv(variable, value)
    with (
        pytest.raises(SettingsError, match=r"^OTEL_[A-Z_*]+: ") as caught,
        tracing("http://127.0.0.1:1", ratio=1, process="http"),
    ):
        pass
    assert "himitsu" not in f"{caught.value}{caplog.text}"


@pytest.mark.parametrize("headers", ["", "api-key=a%20b, x = c==,", "authorization=Bearer abc"])
def test_headers_for_a_collector(monkeypatch: pytest.MonkeyPatch, headers: str) -> None:
    """Headers that the SDK accepts are accepted."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    with tracing("http://127.0.0.1:1", ratio=1, process="http") as tracer:
        assert tracer is not NO_TRACER


@pytest.mark.parametrize("given", [None, "", "himitsu", GIVEN.replace("00-", "ff-"), GIVEN[:-3]])
def test_no_context_of_what_is_malformed(given: str | None) -> None:
    """A client that sends nonsense or nothing starts a new trace."""
    assert context_of(given) == Context()


def test_context_goes_from_process_to_process() -> None:
    """The `traceparent` of one process is continued by another."""
    tracer = TracerProvider().get_tracer("test")
    with span(tracer, "outer", parent=context_of(GIVEN)) as outer:
        given = traceparent(outer)
    there = trace.get_current_span(context_of(given)).get_span_context()
    assert there.trace_id == trace.get_current_span(context_of(GIVEN)).get_span_context().trace_id
    assert there.span_id == outer.get_span_context().span_id


def test_error_is_noted_by_its_type_alone() -> None:
    """An error's message may quote a user's text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with pytest.raises(ValueError, match="himitsu"), span(provider.get_tracer("test"), "failing"):
        raise ValueError("himitsu")
    (finished,) = exporter.get_finished_spans()
    assert finished.status.description == "ValueError"
    assert "himitsu" not in finished.to_json()
