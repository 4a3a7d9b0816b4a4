"""A trace collector: receives what an OTLP exporter sends over HTTP and keeps it for tests to inspect."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(frozen=True)
class Recorded:
    """A span, and the process that made it: `http` or `worker`."""

    span: Span
    process: str

    @property
    def attributes(self) -> dict[str, object]:
        """The span's attributes by name."""
        return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in self.span.attributes}


@dataclass
class Collector:
    """The spans that have been received; `bodies` are the raw request bodies."""

    url: str = ""
    spans: list[Recorded] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> list[Recorded]:
        """The spans of that name, in the order of their start."""
        found = [recorded for recorded in self.spans if recorded.span.name == name]
        return sorted(found, key=lambda recorded: recorded.span.start_time_unix_nano)

    def take(self, body: bytes) -> None:
        """Keep what an exporter has sent."""
        self.bodies.append(body)
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {pair.key: pair.value.string_value for pair in of_process.resource.attributes}
            for of_scope in of_process.scope_spans:
                self.spans += [Recorded(span, names["antecedent.process"]) for span in of_scope.spans]


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens on loopback."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called there
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
