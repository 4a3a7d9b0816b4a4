"""What the processes of a deployment take while it is under load: memory and file descriptors, second by second."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import psutil
import redis

from loadtests.deployment import Deployment

_PATIENCE_SECONDS = 0.2

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Sample:
    """A moment; processes that are just being started or ended do not count."""

    at: float
    service_bytes: int
    """Resident memory of all HTTP processes."""
    worker_bytes: int
    """Of all workers."""
    descriptors: int
    """Open in all of them."""
    redis_bytes: int | None
    """That the data in Redis takes; None while it does not answer."""


class Sampler:
    """Takes samples of a deployment, at most one each `every` seconds."""

    def __init__(self, deployment: Deployment, every: float) -> None:
        self._deployment = deployment
        self._every = every
        self._redis = redis.Redis(port=deployment.redis.port, socket_timeout=_PATIENCE_SECONDS)
        self.samples: list[Sample] = []

    def close(self) -> None:
        """Take no more."""
        self._redis.close()

    def tick(self) -> None:
        """Take one if it is time."""
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
            )
        )

    def _redis_bytes(self) -> int | None:
        with suppress(redis.RedisError):
            return int(self._redis.info("memory")["used_memory"])
        return None


def growth(values: Sequence[float]) -> float:
    """By how much the last fifth of a run lies above its second fifth, at the median; the first one is warming up."""
    fifth = max(1, len(values) // 5)
    return median(values[-fifth:]) - median(values[fifth : 2 * fifth] or values[:1])


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
