"""Replicas of the service that share one Redis, and keep their ports when they are restarted."""

import json
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import psutil

from loadtests.errors import LoadTestError
from loadtests.stage.clock import Clock
from loadtests.stage.processes import RedisServer, Replica, eventually, free_port
from service.settings import PREFIX
from service.store.redis_process import carried_redis_server

REAL: Final = "service"
"""The module of the service with its real runtime."""
_UNFORESEEN = (
    "unforeseen_error",
    "error_of_nobody",
    "worker_crashed",
    "dispatcher_failed",
    "file_failed",
    "not_followed",
    "not_asked",
    "place_not_renewed",
    "redis_not_started",
)
_WORKER_DIED: Final = "worker_died"
STAND_IN: Final = "loadtests.stage.stand_in"


@dataclass(frozen=True, slots=True)
class End:
    """How a replica that was told to end did so: its exit status, and how many seconds it took."""

    status: int
    seconds: float


class Deployment:
    """A Redis, and replicas that use it; `deployed` makes one."""

    def __init__(
        self, redis: RedisServer, replicas: list[Replica], urls: list[str], clocks: Sequence[Clock] = ()
    ) -> None:
        self.redis = redis
        self.urls = urls
        self.clocks = clocks
        """The clocks of the replicas and of Redis, if they have clocks of their own."""
        self.ends: Final[list[End]] = []
        """How the replicas that were told to end did so."""
        self.workers_killed = 0
        self._replicas = replicas

    def start(self) -> None:
        """Start Redis and all replicas, and wait until each is ready."""
        self.redis.start()
        with ThreadPoolExecutor(len(self._replicas)) as pool:
            list(pool.map(self._start, self._replicas))

    def restart(self, number: int, by: signal.Signals) -> None:
        """End a replica by a signal and start it again on its port."""
        replica, began = self._replicas[number], time.monotonic()
        status = replica.end(by)
        if by is not signal.SIGKILL:
            self.ends.append(End(status, time.monotonic() - began))
        self._start(replica)

    def kill_worker(self, number: int) -> None:
        """Kill a worker of a replica.

        Raises:
            LoadTestError: the replica has none.
        """
        workers = self.workers(number)
        if not workers:
            raise LoadTestError(f"replica {number} has no worker to kill")
        self.workers_killed += 1
        workers[0].kill()

    def wait_until_well(self) -> None:
        """Wait until every replica reaches Redis and has all of its workers.

        Raises:
            LoadTestError: one has ended, or is not well within PATIENCE_SECONDS.
        """
        for replica in self._replicas:
            with replica.client() as client:
                eventually(partial(_is_well, replica, client), "a replica reaches Redis and has all of its workers")

    def services(self) -> list[psutil.Process]:
        """Return the HTTP processes that are alive."""
        return [psutil.Process(replica.pid) for replica in self._replicas if replica.alive]

    def workers(self, number: int) -> list[psutil.Process]:
        """Return the worker processes of a replica."""
        children = psutil.Process(self._replicas[number].pid).children()
        return [child for child in children if "worker_process" in " ".join(child.cmdline())]

    def unforeseen(self) -> list[str]:
        """Return the log lines of all replicas about unforeseen errors: a traceback, or each error's type and place."""
        return [line for line in self._logged() if _is_unforeseen(line)]

    def workers_died(self) -> int:
        """Count the workers that have ended without being told to, including those killed."""
        return sum(_members(line).get("event") == _WORKER_DIED for line in self._logged())

    def close(self) -> None:
        """End everything at once."""
        for replica in self._replicas:
            replica.close()
        self.redis.kill()

    def _start(self, replica: Replica) -> None:
        with replica.start().client() as client:
            eventually(lambda: _ask(client, "/health/ready") is not None, "a replica is ready")

    def _logged(self) -> list[str]:
        return [line for replica in self._replicas for line in replica.log.splitlines()]


def _is_well(replica: Replica, client: httpx.Client) -> bool:
    if not replica.alive:
        raise LoadTestError("a replica has ended")  # perhaps all have: interrupting a run ends its processes, too
    answer = _ask(client, "/health/dependencies")
    if answer is None:
        return False
    workers = [one["detail"] for one in answer.json()["dependencies"] if one["name"].startswith("workers:")]
    alive, sizes = zip(*(detail.split()[:3:2] for detail in workers), strict=True)  # "1 of 2 alive"
    return bool(alive == sizes)


def _ask(client: httpx.Client, path: str) -> httpx.Response | None:
    """Return a replica's answer; None if it is an error, or if there is none, as from a dead replica."""
    try:
        answer = client.get(path)
    except httpx.TransportError:
        return None
    return answer if answer.is_success else None


def _is_unforeseen(line: str) -> bool:
    return "Traceback" in line or any(event in line for event in _UNFORESEEN) or _is_an_error_of_uvicorn(line)


def _is_an_error_of_uvicorn(line: str) -> bool:
    """Return whether something failed outside our own error handling, so that only uvicorn saw it."""
    said = _members(line)
    return (said.get("logger"), said.get("level")) == ("uvicorn.error", "error")


def _members(line: str) -> dict[str, object]:
    """Return the members of a log line; none if it is not one of ours."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


@contextmanager
def deployed(
    folder: Path,
    count: int,
    *,
    module: str,
    settings: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
    appendfsync: str = "always",
    own_clocks: bool = False,
) -> Iterator[Deployment]:
    """Start `count` replicas with files in `folder`; end them afterwards.

    `settings` are those of the service, by field name; `environment` holds further variables for its processes; with
    `own_clocks`, each replica, and Redis, has a clock that can be set wrong.

    Raises:
        LoadTestError: a process does not start, or such clocks are not available.
    """
    clocks = [Clock(folder / f"clock-{number}") for number in range(count + 1)] if own_clocks else []
    *timed, redis_timed = [clock.environment() for clock in clocks] or [{}] * (count + 1)
    redis = RedisServer(
        _made(folder / "redis"),
        "--appendfsync",
        appendfsync,
        environment=redis_timed,
        program=carried_redis_server() if own_clocks else None,  # Debian's own hangs under libfaketime as it starts
    )
    shared = {"redis_url": redis.url, "log_level": "error", **settings}
    variables = {f"{PREFIX}{name.upper()}": value for name, value in shared.items()} | dict(environment or {})
    ports = [free_port() for _ in range(count)]
    replicas = [
        Replica(_made(folder / f"replica-{port}"), module, {**variables, **clock, f"{PREFIX}PORT": str(port)})
        for port, clock in zip(ports, timed, strict=True)
    ]
    deployment = Deployment(redis, replicas, [f"http://127.0.0.1:{port}" for port in ports], clocks)
    try:
        deployment.start()
        yield deployment
    finally:
        deployment.close()


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
