"""What a deployment uses and does under load: memory, file descriptors and work, second by second."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import httpx
import psutil
import redis
from prometheus_client.parser import text_string_to_metric_families
from redis.backoff import NoBackoff
from redis.retry import Retry

from loadtests.errors import LoadTestError
from loadtests.stage.deployment import Deployment

_PATIENCE_SECONDS = 0.2

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured at one moment; processes just being started or ended do not count."""

    at: float
    service_bytes: int
    """Resident memory of all HTTP processes."""
    worker_bytes: int
    """Resident memory of all workers."""
    descriptors: int
    """File descriptors open in all of these processes."""
    redis_bytes: int | None
    """Memory of the data in Redis; None while it does not answer."""
    work: "Work | None" = None
    """What all replicas have done; None while one of them does not answer."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a service reports as translated, since its start or per second; users may not have received it yet."""

    sentences: float
    tokens: float
    """Tokens of the translations."""


class Sampler:
    """Takes samples of a deployment, at most one each `every` seconds."""

    def __init__(self, deployment: Deployment, every: float) -> None:
        self._deployment = deployment
        self._every = every
        self._redis = redis.Redis(
            port=deployment.redis.port, socket_timeout=_PATIENCE_SECONDS, retry=Retry(NoBackoff(), 0)
        )
        self._http = httpx.Client(timeout=_PATIENCE_SECONDS, trust_env=False)
        self.samples: list[Sample] = []

    def close(self) -> None:
        """Take no more."""
        self._redis.close()
        self._http.close()

    def tick(self) -> None:
        """Take a sample if it is time."""
        now = time.monotonic()
        if self.samples and now < self.samples[-1].at + self._every:
            return
        services = self._deployment.services()
        workers = [child for process in services for child in _children(process)]
        self.samples.append(
            Sample(
                now,
                sum(_resident(process) for process in services),
                sum(_resident(process) for process in workers),
                sum(_value(process.num_fds, 0) for process in [*services, *workers]),
                self._redis_bytes(),
                self._work(),
            )
        )

    def _redis_bytes(self) -> int | None:
        with suppress(redis.RedisError):
            return int(self._redis.info("memory")["used_memory"])
        return None

    def _work(self) -> Work | None:
        with suppress(httpx.HTTPError):
            done = [_done(self._http.get(f"{url}/metrics").raise_for_status().text) for url in self._deployment.urls]
            return Work(sum(work.sentences for work in done), sum(work.tokens for work in done))
        return None


def steady_rate(samples: Sequence[Sample], began: float, seconds: float) -> Work:
    """Return the work per second in the second half of a run, while users still come: in the first, the queue fills.

    Outcomes cannot tell: readers of events get a sentence only after those before it, and so in bursts.

    Raises:
        LoadTestError: there are not two samples to compare.
    """
    half = [(one.at, one.work) for one in samples if one.work and seconds / 2 <= one.at - began <= seconds]
    if len(half) < 2:
        raise LoadTestError("the run is too short, or the service did not say what it has done")
    (first, before), (last, after) = half[0], half[-1]
    passed = last - first
    return Work((after.sentences - before.sentences) / passed, (after.tokens - before.tokens) / passed)


def growth(values: Sequence[float]) -> float:
    """Return by how much the median of a run's last fifth exceeds that of its second; the first is for warming up."""
    fifth = max(1, len(values) // 5)
    return median(values[-fifth:]) - median(values[fifth : 2 * fifth] or values[:1])


def _done(metrics: str) -> Work:
    counted = {
        sample.name: sample.value for family in text_string_to_metric_families(metrics) for sample in family.samples
    }
    return Work(counted["antecedent_sentences_total"], counted["antecedent_tokens_total"])


def _children(process: psutil.Process) -> list[psutil.Process]:
    none: list[psutil.Process] = []
    return _value(process.children, none)


def _resident(process: psutil.Process) -> int:
    return _value(lambda: process.memory_info().rss, 0)


def _value(ask: Callable[[], _T], gone: _T) -> _T:
    try:
        return ask()
    except psutil.Error:
        return gone
