"""Metrics of the worker processes, collected when they are asked for."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of a model: how many there should be, how many are alive, and the bytes of memory that they hold."""

    model: str
    size: int
    alive: int
    memory: int


class WorkerCollector(Collector):
    """Counts the workers of each loaded model, and their memory."""

    def __init__(self, workers: Callable[[], Iterable[Workers]]) -> None:
        self._workers = workers

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without values, since nothing need be loaded yet."""
        yield from _families()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        configured, alive, memory = _families()
        for workers in self._workers():
            configured.add_metric([workers.model], workers.size)
            alive.add_metric([workers.model], workers.alive)
            memory.add_metric([workers.model], workers.memory)
        yield from (configured, alive, memory)


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    def gauge(name: str, what: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"antecedent_{name}", what, labels=["model"])

    return (
        gauge("workers_configured", "Worker processes that should be running."),
        gauge("workers_alive", "Worker processes that can translate."),
        gauge("worker_resident_memory_bytes", "Memory of all worker processes of a model."),
    )
