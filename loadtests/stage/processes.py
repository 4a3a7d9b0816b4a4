"""Real processes on loopback, to be killed and started again at will: a Redis, and replicas of the service."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import AnyStr, Self

import httpx
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from loadtests.errors import LoadTestError
from service.settings import PREFIX
from service.store.redis_process import find_redis_server

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 180.0
"""Far longer than anything takes on a machine that is busy."""


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds.

    Raises:
        LoadTestError: it does not within PATIENCE_SECONDS.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise LoadTestError(f"never happened: {what}")
        time.sleep(0.01)


def without_settings() -> dict[str, str]:
    """The environment of this process, without settings of a service: those of whoever measures one are for another."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def free_port() -> int:
    """A port of loopback that nothing listens on; see `hold_port`."""
    return hold_port(0)


def hold_port(port: int) -> int:
    """Keep a port of loopback, or any if it is 0, for who will listen there, as long as this process runs.

    Bound and not listened on it can be taken by whoever names it and sets SO_REUSEADDR, as servers do, and Linux gives
    it to nobody who asks for any: not before the server starts, nor while it is down.

    Raises:
        OSError: it is taken.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        found: int = holder.getsockname()[1]
        if sys.platform == "linux":
            holder.detach()  # elsewhere nobody else could listen there
        return found


class RedisServer:
    """A Redis on loopback with its append-only file on; the data survives `kill` and `start`.

    `options` are further arguments of `redis-server`, `environment` is added to its environment; `program` is
    another Redis than the one that the service would start.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        program: Path | None = None,
    ) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder = folder
        self._options = options
        self._environment = os.environ | dict(environment or {})
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            LoadTestError: it ends instead; its own words.
        """
        options = ["--port", str(self.port), "--dir", str(self._folder), "--save", "", "--appendonly", "yes"]
        # What was answered is in the file when Redis is killed. With `everysec` a write waits until the fsync before it
        # is done, on a slow disk for up to two seconds.
        options += ["--appendfsync", "no"]
        command = [str(self._program or find_redis_server()), *options, "--logfile", "redis.log", *self._options]
        # Signals that Python ignores stay ignored: a file that cannot grow is an error of writing then, not an end.
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command, env=self._environment, stdin=subprocess.DEVNULL, restore_signals=False
        )
        eventually(lambda: self._ended() or self.answers(), "Redis answers")
        if self._ended():
            log = self._folder / "redis.log"
            said = log.read_text()[-2000:].strip() if log.exists() else "what it said stands above"
            raise LoadTestError(f"Redis did not start: {said}")

    def _ended(self) -> bool:
        return _running(self._process).poll() is not None

    def answers(self) -> bool:
        """Whether a ping comes back: the first one, since redis-py would repeat it for a minute."""
        with redis.Redis(port=self.port, socket_timeout=2, retry=Retry(NoBackoff(), 0)) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def kill(self) -> None:
        """End it by SIGKILL, if it runs, and wait until it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it hang: it keeps its connections and answers nothing."""
        _running(self._process).send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on, with all that it was sent meanwhile."""
        _running(self._process).send_signal(signal.SIGCONT)

    @property
    def pid(self) -> int:
        """Process id."""
        return _running(self._process).pid

    def file_bytes(self) -> int:
        """The size of its append-only file."""
        return max(file.stat().st_size for file in self._folder.rglob("*.aof"))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class Replica:
    """A service process: `module` run as Python does, with settings from `environment`."""

    def __init__(self, folder: Path, module: str, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._module = module
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> Self:
        """Start it and wait until it says that it serves.

        Raises:
            LoadTestError: it ends instead, or says nothing within PATIENCE_SECONDS; its own words.
        """
        line = _first_line(self.spawn())
        if " at http://" not in line:
            raise LoadTestError(f"the service did not start: {self.log.strip()}")
        self.url = line.split(" at ")[1].split()[0]
        return self

    def spawn(self) -> "subprocess.Popen[str]":
        """Start it without waiting for anything."""
        environment = without_settings() | {f"{PREFIX}PORT": "0", f"{PREFIX}WORKERS": "1"} | dict(self._environment)
        self._process = self.popen(environment)
        return self._process

    def popen(self, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
        """The process, which `spawn` keeps."""
        with (self._folder / "stderr").open("a") as log:
            return subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", self._module],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def pid(self) -> int:
        """Process id."""
        return _running(self._process).pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Everything that it has written to standard error."""
        return (self._folder / "stderr").read_text()

    def client(self) -> httpx.Client:
        """A client of it."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)

    def send(self, number: int) -> None:
        """Send it a signal."""
        _running(self._process).send_signal(number)

    def wait(self) -> int:
        """Wait until it has ended; gives its exit status.

        Raises:
            LoadTestError: it does not within PATIENCE_SECONDS, and was killed.
        """
        with _running(self._process) as process:
            try:
                return process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()  # or leaving would wait for it, too
                raise LoadTestError(f"the service did not end: {self.log[-2000:].strip()}") from error

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; gives its exit status."""
        self.send(number)
        return self.wait()

    def close(self) -> None:
        """End it, if it still runs, at once."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        if self._process is not None:
            with self._process:
                self._process.wait()


def _first_line(process: "subprocess.Popen[str]") -> str:
    """What a process says first; nothing, if that is nothing within PATIENCE_SECONDS."""
    if process.stdout is None:
        return ""
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
    return process.stdout.readline() if ready else ""


def _running(process: "subprocess.Popen[AnyStr] | None") -> "subprocess.Popen[AnyStr]":
    if process is None:
        raise LoadTestError("the process has not been started")
    return process
