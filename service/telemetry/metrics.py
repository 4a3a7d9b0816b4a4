"""Prometheus metrics, in a registry of their own. Labels come from fixed sets: no text, id or key of a user."""

import platform
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.exposition import generate_latest

from service.telemetry.build import release
from service.telemetry.worker_metrics import WorkerCollector, Workers

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_REQUEST_SECONDS = (*_SECONDS, 120, 300, 600)
"""A document of thousands of sentences takes minutes."""
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_CHARACTERS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)


class Metrics:
    """The instruments of one service process; whoever measures is handed this object."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests answered.", "route", "method", "status")
        self.request_seconds = self._histogram(
            "request_seconds", "Time to answer a request.", _REQUEST_SECONDS, "route"
        )
        self.first_sentence_seconds = self._histogram(
            "first_sentence_seconds", "Time to the first sentence of a document that is answered with events.", _SECONDS
        )
        self.requests_running = self._gauge("requests_running", "Requests that are currently being answered.")
        self.streams_open = self._gauge("streams_open", "Open WebSocket streams.")
        self.waiting = self._gauge("sentences_waiting", "Sentences in the queue.", "priority")
        self.running = self._gauge("sentences_running", "Sentences at a worker.")
        self.batch_sentences = self._histogram(
            "batch_sentences", "Sentences that a worker holds each time it is given more.", _SENTENCES
        )
        self.batch_characters = self._histogram(
            "batch_characters",
            "Characters, including context, that a worker holds each time it is given more.",
            _CHARACTERS,
        )
        self.queue_seconds = self._histogram(
            "queue_seconds", "Time that a sentence spends in the queue.", _SECONDS, "priority"
        )
        self.model_seconds = self._histogram(
            "model_seconds", "Time in the model between two answers of a worker.", _SECONDS
        )
        self.sentences = self._counter("sentences", "Sentences translated.")
        self.session_sentences = self._counter(
            "session_sentences",
            "Answered sentences of sessions, by whether sent in a request or on a stream.",
            "channel",
        )
        self.stream_sentence_seconds = self._histogram(
            "stream_sentence_seconds", "Time from the arrival of a sentence on a stream to its answer.", _SECONDS
        )
        self.stored_answers = self._counter(
            "stored_answers", "Sentences of sessions that were sent again after they had been answered."
        )
        self.context_states = self._counter(
            "context_states", "Context states that workers took from their cache or computed.", "origin"
        )
        self.files = self._counter("files", "Files that were translated (`done`) or failed (`error`).", "status")
        self.tokens = self._counter("tokens", "Target tokens generated.")
        self.tokens_kept = self._counter("tokens_kept", "Target tokens kept from a draft, without a decoding step.")
        self.redis_seconds = self._histogram("redis_seconds", "Time of a round trip to Redis.", _SECONDS, "operation")
        self.redis_failures = self._counter("redis_failures", "Failed round trips to Redis.", "operation")
        self.redis_nodes_away = self._gauge(
            "redis_nodes_away", "Redis nodes that are considered unavailable: calls to them fail at once."
        )
        self.rejections = self._counter("rejections", "Requests answered with an error, by error code.", "code")
        self.authentication_failures = self._counter(
            "authentication_failures", "Requests without a valid key, by reason.", "reason"
        )
        self.key_read_failures = self._counter("key_read_failures", "Failed attempts to reread the keys.")
        self.models_not_loaded = self._gauge(
            "models_not_loaded", "Models that should be served here but could not be loaded."
        )
        self.worker_restarts = self._counter("worker_restarts", "Restarts of worker processes.")
        self.redis_restarts = self._counter("redis_restarts", "Restarts of the service's own Redis.")
        ProcessCollector(registry=self.registry)
        Info("antecedent_build", "The running release.", registry=self.registry).info(
            {"version": release(), "python": platform.python_version()}
        )

    def watch_workers(self, workers: Callable[[], Iterable[Workers]]) -> None:
        """Ask for the workers of each model whenever the metrics are read."""
        self.registry.register(WorkerCollector(workers))

    def render(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"antecedent_{name}", what, labels, registry=self.registry)

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(f"antecedent_{name}", what, labels, registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"antecedent_{name}", what, labels, buckets=buckets, registry=self.registry)
