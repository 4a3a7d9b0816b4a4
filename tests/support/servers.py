"""Real processes for tests: a Redis, and replicas of the service, which are killed and started again at will."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import redis

from models.bundle.manifest import Manifest
from service.store.redis_process import find_redis_server

ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 180.0


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; fail, by a generous deadline, if it never does."""
    deadline = time.monotonic() + _START_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


class RedisServer:
    """A Redis on loopback with its append-only file on; the data survives `kill` and `start`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = ["--port", str(self.port), "--dir", str(self._folder), "--save", "", "--appendonly", "yes"]
        command = [str(find_redis_server()), *options, "--logfile", "redis.log"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        eventually(self.answers, "Redis answers")

    def answers(self) -> bool:
        """Whether a ping comes back."""
        with redis.Redis(port=self.port, socket_timeout=5) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def kill(self) -> None:
        """End it by SIGKILL, and wait until it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it hang: it keeps its connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on, with all that it was sent meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


class Replica:
    """A service process: `module` run as Python does, with settings from `environment`."""

    def __init__(self, folder: Path, module: str, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._module = module
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> "Replica":
        """Start it and wait until it says that it serves."""
        process = self.spawn()
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " at http://" in line, self.log
        self.url = line.split(" at ")[1].split()[0]
        return self

    def spawn(self) -> "subprocess.Popen[str]":
        """Start it without waiting for anything."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ANTECEDENT_")}
        with (self._folder / "stderr").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self._module],
                cwd=ROOT,
                env=clean | {"ANTECEDENT_PORT": "0", "ANTECEDENT_WORKERS": "1"} | dict(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self._process

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """Everything that it has written to standard error."""
        return (self._folder / "stderr").read_text()

    def client(self) -> httpx.Client:
        """A client of it."""
        return httpx.Client(base_url=self.url, timeout=_START_SECONDS, trust_env=False)

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it has ended; gives its exit status."""
        assert self._process is not None
        with self._process:
            return self._process.wait(_START_SECONDS)

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


class Replicas:
    """Makes replicas on the stand-in runtime, each with files of its own, and ends them all."""

    def __init__(self, folder: Path, bundle: Path) -> None:
        self._folder = folder
        self._bundle = bundle
        self._made: list[Replica] = []

    def new(self, **settings: str) -> Replica:
        """One more, not yet started; arguments are settings."""
        folder = self._folder / f"replica-{len(self._made)}"
        folder.mkdir()
        default = {"bundles": str(self._bundle), "redis_folder": str(self._folder / "redis")}
        environment = {f"ANTECEDENT_{name.upper()}": value for name, value in (default | settings).items()}
        self._made.append(Replica(folder, "tests.support.stand_in", environment))
        return self._made[-1]

    def close(self) -> None:
        """End those that still run."""
        for replica in self._made:
            replica.close()


def children(pid: int) -> list[tuple[int, str]]:
    """Process id and command line of each child of a process."""
    listing = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = []
    for child in map(int, listing):
        command = Path(f"/proc/{child}/cmdline")
        if command.exists():
            found.append((child, command.read_text().replace("\0", " ")))
    return found


def child(pid: int, named: str) -> int:
    """The one child of a process whose command line holds `named`."""
    (found,) = [number for number, command in children(pid) if named in command]
    return found


def bundle(
    folder: Path,
    *,
    name: str = "stand-in",
    source: str = "ja",
    target: str = "en",
    window: int = 2,
    reads_target_context: bool = False,
) -> Path:
    """A folder with a manifest and no model, for the stand-in runtime."""
    folder.mkdir(parents=True, exist_ok=True)
    Manifest.model_validate(
        {
            "name": name,
            "languages": {"source": source, "target": target},
            "backbone": {},
            "architecture": {"kind": "doc_transformer", "context_sentences": max(window, 1)},
            "vocabulary": {"source": 100, "target": 100, "joint": True},
            "window": {"size": window},
            "no_context": "module",
            "reads_target_context": reads_target_context,
            "decoding": {},
            "limits": {"split_tokens": 100, "source_tokens": 200},
            "quantization": "int8",
            "provenance": {"training_data": "none", "licence": "CC0-1.0", "attribution": "nobody"},
            "scores": {},
            "files": {},
        }
    ).save(folder)
    return folder
