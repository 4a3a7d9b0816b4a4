"""Prometheus metrics, in a registry of their own. Labels come from fixed sets: no text, id or key of a user."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The instruments of one service process; whoever measures is handed this object."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests answered.", "route", "method", "status")
        self.request_seconds = self._histogram("request_seconds", "Time to answer a request.", _SECONDS, "route")
        self.waiting = Gauge("antecedent_sentences_waiting", "Sentences in the queue.", registry=self.registry)
        self.running = Gauge("antecedent_sentences_running", "Sentences at a worker.", registry=self.registry)
        self.batch_sentences = self._histogram("batch_sentences", "Sentences in a batch.", _SENTENCES)
        self.queue_seconds = self._histogram("queue_seconds", "Time of a sentence in the queue.", _SECONDS)
        self.model_seconds = self._histogram("model_seconds", "Time of a batch in the model.", _SECONDS)
        self.sentences = self._counter("sentences", "Sentences translated.")
        self.tokens = self._counter("tokens", "Target tokens generated.")
        self.redis_seconds = self._histogram("redis_seconds", "Time of a Redis round trip.", _SECONDS, "operation")
        self.redis_failures = self._counter("redis_failures", "Redis round trips that failed.", "operation")
        self.rejections = self._counter("rejections", "Requests answered with an error, by its code.", "code")
        self.authentication_failures = self._counter(
            "authentication_failures", "Requests without a valid key or its scope, by what was wrong.", "reason"
        )
        self.key_read_failures = self._counter("key_read_failures", "Times that the keys could not be read again.")
        self.worker_restarts = self._counter("worker_restarts", "Worker processes started anew.")
        self.redis_restarts = self._counter("redis_restarts", "Starts anew of the service's own Redis.")

    def render(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"antecedent_{name}", what, labels, registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"antecedent_{name}", what, labels, buckets=buckets, registry=self.registry)
