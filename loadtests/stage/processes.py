"""Real processes on loopback, to be killed and restarted at will: a Redis, and replicas of the service."""

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
"""Far longer than anything takes, even on a busy machine."""


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; look less often the longer that takes, as a look may cost as much as a request.

    Raises:
        LoadTestError: it does not within PATIENCE_SECONDS.
    """
    began = time.monotonic()
    while not holds():
        waited = time.monotonic() - began
        if waited > PATIENCE_SECONDS:
            raise LoadTestError(f"never happened: {what}")
        time.sleep(min(max(0.01, waited / 10), 0.1))


def without_settings() -> dict[str, str]:
    """Return this process's environment without service settings, which are not meant for the measured service."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


def free_port() -> int:
    """Return a port of loopback that nothing listens on; see `hold_port`."""
    return hold_port(0)


def hold_port(port: int) -> int:
    """Reserve a port of loopback (any if 0) for a server to listen on, as long as this process runs.

    A port that is bound but not listened on can be taken by a process that names it and sets SO_REUSEADDR, as servers
    do. Linux gives it to no process that asks for any port, neither before the server starts nor while it is down.

    Raises:
        OSError: the port is taken.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        found: int = holder.getsockname()[1]
        if sys.platform == "linux":
            holder.detach()  # elsewhere, nobody else could listen there
        return found


class RedisServer:
    """A Redis on loopback with an append-only file, so that its data survives `kill` and `start`.

    `options` are further arguments of `redis-server`, and `environment` is added to its environment; `program` is a
    Redis to use instead of the one that the service would start.
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
        """Start Redis and wait until it answers.

        Raises:
            LoadTestError: it ends instead; the message quotes its log.
        """
        options = ["--port", str(self.port), "--dir", str(self._folder), "--save", "", "--appendonly", "yes"]
        # Whatever was answered is in the file even if Redis is killed. With `everysec`, a write would wait for the
        # fsync before it, up to two seconds on a slow disk.
        options += ["--appendfsync", "no"]
        command = [str(self._program or find_redis_server()), *options, "--logfile", "redis.log", *self._options]
        # Signals that Python ignores stay ignored: a file that cannot grow is then a write error, and kills no Redis.
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
        """Return whether the first ping is answered; redis-py would otherwise repeat it for a minute."""
        with redis.Redis(port=self.port, socket_timeout=2, retry=Retry(NoBackoff(), 0)) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def kill(self) -> None:
        """Kill Redis with SIGKILL, if it runs, and wait until it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Suspend Redis: it keeps its connections, but answers nothing."""
        _running(self._process).send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let Redis go on, with all that it was sent meanwhile."""
        _running(self._process).send_signal(signal.SIGCONT)

    @property
    def pid(self) -> int:
        """Process id."""
        return _running(self._process).pid

    def file_bytes(self) -> int:
        """Return the size of the append-only file."""
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
        """Start the service and wait until it says that it serves.

        Raises:
            LoadTestError: it ends instead, or says nothing within PATIENCE_SECONDS; the message quotes its log.
        """
        line = _first_line(self.spawn())
        if " at http://" not in line:
            raise LoadTestError(f"the service did not start: {self.log.strip()}")
        self.url = line.split(" at ")[1].split()[0]
        return self

    def spawn(self) -> "subprocess.Popen[str]":
        """Start the service without waiting for anything."""
        environment = without_settings() | {f"{PREFIX}PORT": "0", f"{PREFIX}WORKERS": "1"} | dict(self._environment)
        self._process = self.popen(environment)
        return self._process

    def popen(self, environment: Mapping[str, str]) -> "subprocess.Popen[str]":
        """Return a new process, which `spawn` keeps."""
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
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """Everything that the process has written to standard error."""
        return (self._folder / "stderr").read_text()

    def client(self) -> httpx.Client:
        """Return a client of the replica."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)

    def send(self, number: int) -> None:
        """Send the process a signal."""
        _running(self._process).send_signal(number)

    def wait(self) -> int:
        """Wait until the process has ended; return its exit status.

        Raises:
            LoadTestError: it did not end within PATIENCE_SECONDS, and was killed.
        """
        with _running(self._process) as process:
            try:
                return process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()  # or leaving the `with` block would wait for it, too
                raise LoadTestError(f"the service did not end: {self.log[-2000:].strip()}") from error

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; return its exit status."""
        self.send(number)
        return self.wait()

    def close(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        if self._process is not None:
            with self._process:
                self._process.wait()


def _first_line(process: "subprocess.Popen[str]") -> str:
    """Return the first line that a process prints; empty if there is none within PATIENCE_SECONDS."""
    if process.stdout is None:
        return ""
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
    return process.stdout.readline() if ready else ""


def _running(process: "subprocess.Popen[AnyStr] | None") -> "subprocess.Popen[AnyStr]":
    if process is None:
        raise LoadTestError("the process has not been started")
    return process
