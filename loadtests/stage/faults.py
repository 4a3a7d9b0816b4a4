"""Faults that strike during a run, and when; the same for the same seed."""

import random
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import psutil
import redis

from loadtests.errors import LoadTestError
from loadtests.stage.clock import SEEN_SECONDS
from loadtests.stage.deployment import Deployment

_LONGEST_OUTAGE_SECONDS = 1.0
_POLL_SECONDS = 0.05
_PAUSE_MS, _BREATH_SECONDS = 100, 0.02
_ROOM_BYTES = 64


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong for a while, and is then put right again."""

    name: str
    happening: Callable[[Deployment], AbstractContextManager[None]]
    seconds: float


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault that has happened, and when it began and every replica was well again, on the monotonic clock."""

    name: str
    began: float
    ended: float
    failure: str = ""
    """Why not all is well again; empty if it is."""


Timeline = Sequence[tuple[float, Fault]]
"""The faults, each after the part of a run, between 0 and 1, at which it strikes."""


def evenly(faults: Sequence[Fault]) -> Timeline:
    """Spread faults evenly over a run."""
    return [((number + 1) / (len(faults) + 1), fault) for number, fault in enumerate(faults)]


def strike_all(timeline: Timeline, deployment: Deployment, progress: Callable[[], float | None]) -> list[Struck]:
    """Let faults strike one after the other, each when its part of the run is over; `progress` is None at the end.

    After a fault that leaves something broken, no other strikes: its effects could not be told from what was broken.
    """
    struck: list[Struck] = []
    for part, fault in timeline:
        while (over := progress()) is not None and over < part:
            time.sleep(_POLL_SECONDS)
        if over is None:
            break
        began = time.monotonic()
        failure = _strike(fault, deployment)
        struck.append(Struck(fault.name, began, time.monotonic(), failure))
        if failure:
            break
    return struck


def _strike(fault: Fault, deployment: Deployment) -> str:
    """Let a fault strike, and wait until all is well again; return the reason if it is not."""
    try:
        with fault.happening(deployment):
            time.sleep(fault.seconds)
        deployment.wait_until_well()
    except (LoadTestError, OSError, psutil.Error, redis.RedisError) as error:
        return str(error)
    return ""


def kills(rng: random.Random, *, redis: int, replicas: Sequence[int]) -> Sequence[Fault]:
    """Return `redis` kills of Redis, and one kill for each number in `replicas`, in random order."""
    faults = [redis_killed(rng.uniform(0, _LONGEST_OUTAGE_SECONDS)) for _ in range(redis)]
    faults += [replica_ended(number, signal.SIGKILL) for number in replicas]
    rng.shuffle(faults)
    return faults


def redis_killed(seconds: float) -> Fault:
    """Kill Redis, and start it again with its file."""
    return Fault("Redis killed", _redis_killed, seconds)


def redis_paused(seconds: float) -> Fault:
    """Have Redis keep its connections, but answer nothing."""
    return Fault("Redis paused", _redis_paused, seconds)


def redis_slow(seconds: float) -> Fault:
    """Have Redis answer only after a tenth of a second."""
    return Fault("Redis slow", _redis_slow, seconds)


def redis_full(seconds: float) -> Fault:
    """Leave Redis no memory for anything that needs more."""
    return Fault("Redis full", _redis_full, seconds)


def redis_file_stuck(seconds: float) -> Fault:
    """Keep the append-only file of Redis from growing, as on a full disk."""
    return Fault("Redis's file cannot grow", _redis_file_stuck, seconds)


def worker_killed(number: int) -> Fault:
    """Kill a worker process of a replica; the service then starts another one."""
    return Fault("worker killed", partial(_worker_killed, number), 1.0)


def replica_ended(number: int, by: signal.Signals) -> Fault:
    """End a replica by a signal, and start it again on its port."""
    return Fault("replica killed" if by is signal.SIGKILL else "replica restarted", partial(_ended, number, by), 0.0)


def clocks_wrong(seconds: float, by_seconds: Sequence[float]) -> Fault:
    """Set the wall clocks of the replicas and of Redis wrong, each by its own number of seconds."""
    return Fault("clocks wrong", partial(_clocks_wrong, by_seconds), seconds)


@contextmanager
def _redis_killed(deployment: Deployment) -> Iterator[None]:
    deployment.redis.kill()
    yield
    deployment.redis.start()


@contextmanager
def _redis_paused(deployment: Deployment) -> Iterator[None]:
    deployment.redis.pause()
    yield
    deployment.redis.resume()


@contextmanager
def _redis_slow(deployment: Deployment) -> Iterator[None]:
    over = threading.Event()

    def slow_down() -> None:
        with redis.Redis(port=deployment.redis.port) as admin:
            while not over.wait(_BREATH_SECONDS):
                admin.client_pause(_PAUSE_MS)

    thread = threading.Thread(target=slow_down)
    thread.start()
    yield
    over.set()
    thread.join()


@contextmanager
def _redis_full(deployment: Deployment) -> Iterator[None]:
    with redis.Redis(port=deployment.redis.port) as admin:
        admin.config_set("maxmemory", 1)
        yield
        admin.config_set("maxmemory", 0)


@contextmanager
def _redis_file_stuck(deployment: Deployment) -> Iterator[None]:
    server = deployment.redis
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (server.file_bytes() + _ROOM_BYTES, before[1]))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def _worker_killed(number: int, deployment: Deployment) -> Iterator[None]:
    deployment.kill_worker(number)
    yield


@contextmanager
def _ended(number: int, by: signal.Signals, deployment: Deployment) -> Iterator[None]:
    deployment.restart(number, by)
    yield


@contextmanager
def _clocks_wrong(by_seconds: Sequence[float], deployment: Deployment) -> Iterator[None]:
    for clock, seconds in zip(deployment.clocks, by_seconds, strict=True):
        clock.set_off(seconds)
    yield
    for clock in deployment.clocks:
        clock.set_off(0)
    time.sleep(SEEN_SECONDS)  # or a pause of Redis begun on the wrong clock would end by the right one
