import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from loadtests.stage import faults
from loadtests.stage.deployment import Deployment
from loadtests.stage.faults import Fault, evenly, kills, strike_all
from loadtests.stage.processes import RedisServer, eventually


@pytest.fixture
def deployment(mortal_redis: RedisServer) -> Deployment:
    """A deployment of nothing but a Redis."""
    return Deployment(mortal_redis, [], [])


@contextmanager
def nothing(_: Deployment) -> Iterator[None]:
    """A fault that does no harm."""
    yield


def test_kills_are_spread_and_depend_on_the_seed_alone() -> None:
    """Faults are evenly spaced, in an order that the seed decides."""
    found = kills(random.Random(3), redis=3, replicas=[0, 1])
    assert sorted(fault.name for fault in found) == ["Redis killed"] * 3 + ["replica killed"] * 2
    names = [[fault.name for fault in kills(random.Random(seed), redis=3, replicas=[0, 1])] for seed in range(20)]
    assert names[3] == [fault.name for fault in found]
    assert len(set(map(tuple, names))) > 1
    assert [part for part, _ in evenly(found)] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6])


def test_faults_strike_when_their_part_is_over(deployment: Deployment) -> None:
    """Faults strike in turn; those whose time the run does not reach do not strike."""
    progress = iter([0.0, 0.3, 0.5, 0.6, None])
    timeline = evenly([Fault(name, nothing, 0) for name in ("first", "second", "third")])
    struck = strike_all(timeline, deployment, lambda: next(progress))
    assert [fault.name for fault in struck] == ["first", "second"]


def test_what_is_not_well_again_is_said(deployment: Deployment) -> None:
    """The failure is recorded with its reason, rather than ending the run without figures; nothing strikes after it."""
    timeline = evenly([faults.worker_killed(0), Fault("another", nothing, 0)])
    deployment.workers = lambda number: []  # type: ignore[method-assign]
    (struck,) = strike_all(timeline, deployment, lambda: 1.0)
    assert (struck.name, struck.failure) == ("worker killed", "replica 0 has no worker to kill")


@pytest.mark.parametrize(
    ("fault", "refusal"),
    [
        (faults.redis_killed(0), redis.ConnectionError),
        (faults.redis_paused(0), redis.TimeoutError),
        (faults.redis_full(0), redis.OutOfMemoryError),
        (faults.redis_file_stuck(0), redis.ResponseError),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_redis_refuses_while_it_is_ill_and_not_afterwards(
    deployment: Deployment, fault: Fault, refusal: type[redis.RedisError]
) -> None:
    """Each fault makes Redis fail in its own way; when it is over, Redis works again and has kept its data."""
    port, seconds = deployment.redis.port, 0.5 if refusal is redis.TimeoutError else 60
    with (
        redis.Redis(port=port) as patient,
        redis.Redis(port=port, socket_timeout=seconds, retry=Retry(NoBackoff(), 0)) as client,
    ):
        patient.set("before", "1")
        with fault.happening(deployment), pytest.raises(refusal):
            _write_much(client)
        _eventually_set(client)
        assert patient.get("before") == b"1"


def test_slow_redis_answers_late(deployment: Deployment) -> None:
    """Most commands are delayed by a pause, but none fails."""
    with redis.Redis(port=deployment.redis.port) as client, faults.redis_slow(0).happening(deployment):
        paused = [client.ping() for _ in range(5)]
    assert all(paused)


def test_replica_that_is_ended_has_its_name() -> None:
    """A kill and a restart have different names."""
    assert faults.replica_ended(0, signal.SIGKILL).name == "replica killed"
    assert faults.replica_ended(0, signal.SIGTERM).name == "replica restarted"


def _write_much(client: "redis.Redis") -> None:
    for _ in range(100):
        client.set("during", "x" * 10_000)


def _eventually_set(client: "redis.Redis") -> None:
    """Set a key, with many attempts: Redis tries to write its file again only once a second."""

    def is_set() -> bool:
        with suppress(redis.RedisError):
            return bool(client.set("after", "1"))
        return False

    eventually(is_set, "Redis is no longer ill")
