"""What a deployment finds in the logs of its replicas, and notices about its processes."""

import re
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest
import redis

from loadtests.errors import LoadTestError
from loadtests.stage.clock import Clock
from loadtests.stage.deployment import STAND_IN, Deployment, deployed
from loadtests.stage.faults import Fault, evenly, strike_all, worker_killed
from loadtests.stage.processes import ROOT, RedisServer, Replica, eventually
from tests.support.servers import Replicas


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"event": "Exception in ASGI application", "level": "error", "logger": "uvicorn.error"}', True),
        ('{"event": "unforeseen_error", "level": "error", "logger": "service.http"}', True),
        ("Traceback (most recent call last):", True),
        ('{"event": "Invalid HTTP request received.", "level": "warning", "logger": "uvicorn.error"}', False),
        ('{"event": "redis_away", "level": "warning", "logger": "service.store"}', False),
        ("not JSON at all", False),
    ],
)
def test_errors_that_nobody_has_foreseen(line: str, found: bool, tmp_path: Path) -> None:
    """Our own and those that only uvicorn sees are found; not those that a fault or a client explains."""
    (tmp_path / "stderr").write_text(line + "\n")
    deployment = Deployment(cast(RedisServer, None), [Replica(tmp_path, "service", {})], [])
    assert deployment.unforeseen() == [line] * found


def test_every_exception_that_the_service_logs_is_unforeseen(tmp_path: Path) -> None:
    """The service logs with `_log.exception` only what nobody has foreseen, so each such event must be found."""
    modules = [file.read_text(encoding="utf-8") for file in (ROOT / "service").rglob("*.py")]
    events = [event for module in modules for event in re.findall(r'_log\.exception\("(\w+)"', module)]
    (tmp_path / "stderr").write_text("".join(f'{{"event": "{event}", "level": "error"}}\n' for event in events))
    deployment = Deployment(cast(RedisServer, None), [Replica(tmp_path, "service", {})], [])
    assert [event for event in events if not any(event in line for line in deployment.unforeseen())] == []
    assert "dispatcher_failed" in events


def test_workers_that_died_are_counted(tmp_path: Path) -> None:
    """Only log lines with that event count, not lines that contain its name elsewhere."""
    died = '{"event": "worker_died", "pid": 1, "level": "error"}'
    (tmp_path / "stderr").write_text(f'{died}\nworker_died\n{{"event": "redis_away", "code": "worker_died"}}\n{died}\n')
    assert Deployment(cast(RedisServer, None), [Replica(tmp_path, "service", {})], []).workers_died() == 2


def test_worker_that_is_killed_is_known_to_be(new_replicas: Replicas, redis_server: RedisServer) -> None:
    """The service logs that it has died, and the deployment counts it as killed on purpose."""
    deployment = Deployment(redis_server, [new_replicas.new(redis_url=redis_server.url).start()], [])
    (struck,) = strike_all(evenly([worker_killed(0)]), deployment, lambda: 1.0)
    assert (struck.failure, deployment.workers_killed) == ("", 1)
    eventually(lambda: deployment.workers_died() == 1, "the worker's end is logged")


def test_dead_replica_is_not_well(replicas: Replicas, redis_server: RedisServer) -> None:
    """After the next fault, one that has ended by itself is reported at once: nothing would start it again."""
    fault = Fault("nothing", lambda _: nullcontext(), 0.0)
    replica = replicas.new(redis_url=redis_server.url).start()
    deployment = Deployment(redis_server, [replica], [])
    assert [struck.failure for struck in strike_all(evenly([fault]), deployment, lambda: 1.0)] == [""]
    replica.end(signal.SIGKILL)
    (ill,) = strike_all(evenly([fault, fault]), deployment, lambda: 1.0)
    assert ill.failure == "a replica has ended"


def test_redis_goes_by_a_clock_of_its_own(tmp_path: Path, stand_in_bundle: Path) -> None:
    """Whichever Redis is installed, it starts, and its time is the one that is set."""
    try:
        Clock(tmp_path / "clock").environment()
    except LoadTestError as error:
        pytest.skip(str(error))
    settings = {"bundles": str(stand_in_bundle), "workers": "1"}
    with (
        deployed(tmp_path, 1, module=STAND_IN, settings=settings, own_clocks=True) as deployment,
        redis.Redis(port=deployment.redis.port) as client,
    ):
        *_, clock = deployment.clocks
        clock.set_off(3600)
        eventually(lambda: abs(client.time()[0] - time.time() - 3600) < 100, "Redis is an hour fast")
