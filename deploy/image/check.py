"""Starts an image and asks it for a translation: `check.py IMAGE [--engine docker]`, with any Python.

As the manifests run it: a read-only root file system, no capability; and with no network at all but loopback, which the
container with Redis shares with it. Exit status 0 if everything is as it should be, 1 if something is not, 2 where the
image cannot be checked, with one line that says why.
"""

from __future__ import annotations  # who builds an image need not have the Python that is in it

import argparse
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

RESTRICTED = ["--read-only", "--tmpfs=/tmp", "--cap-drop=all", "--security-opt=no-new-privileges"]
REDIS = """
import os, sys
from service.store.redis_process import find_redis_server
os.execv(find_redis_server(), ["redis-server", "--dir", "/tmp", "--appendonly", "yes", "--requirepass", sys.argv[1]])
"""
CLIENT = Path(__file__).with_name("client.py")
COMPILER = "for each in cc gcc c++ g++ clang; do command -v $each && exit; done; exit 1"
START_SECONDS = 120.0


class CannotCheckError(Exception):
    """The image cannot be checked; the message says why."""


class Container:
    """A container that is there as long as its context lasts."""

    def __init__(self, engine: str, name: str, *options: str) -> None:
        self._engine = engine
        self._name = name
        self._options = options

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self._call("run", "--detach", f"--name={self._name}", *RESTRICTED, *self._options)
        except subprocess.CalledProcessError as error:
            self._remove()  # one that could not start is there all the same
            raise CannotCheckError(f"{self._engine} does not start a container of it; its words stand above") from error
        return self

    def __exit__(self, *_: object) -> None:
        """End and forget it."""
        self._remove()

    def run(self, *command: str, given: str | None = None) -> str:
        """What a command in it prints; `given` is its standard input."""
        interactive = [] if given is None else ["--interactive"]
        return self._call("exec", *interactive, self._name, *command, given=given)

    def refuses(self, *command: str) -> bool:
        """Whether a command in it fails."""
        command = (self._engine, "exec", self._name, *command)
        return subprocess.run(command, check=False, capture_output=True).returncode != 0

    def stop(self) -> int:
        """End it as Docker and Kubernetes do; gives its exit status."""
        self._call("stop", "--time=45", self._name)
        return int(self._call("inspect", "--format={{.State.ExitCode}}", self._name))

    def logs(self) -> str:
        """Whatever it has written."""
        command = [self._engine, "logs", self._name]
        return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def _remove(self) -> None:
        command = [self._engine, "rm", "--force", self._name]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # what it has against it, it says itself

    def _call(self, *arguments: str, given: str | None = None) -> str:
        command = [self._engine, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=given).stdout.strip()


def check(engine: str, image: str) -> bool:
    """Start Redis and the service from the image, check them and remove them; prints what it finds.

    Raises:
        CannotCheckError: there is no such engine or image, or no container of it starts.
    """
    health = health_check(engine, image)
    name = f"antecedent-check-{secrets.token_hex(4)}"
    password = secrets.token_urlsafe(24)
    options = ["--network=none", "--no-healthcheck", "--entrypoint=python", image, "-c", REDIS, password]
    with mounted(password, "/run/password") as volume, Container(engine, f"{name}-redis", *options):
        settings = {"REDIS_URL": "redis://127.0.0.1", "REDIS_PASSWORD_FILE": "/run/password", "KEYS": "redis"}
        environment = [f"--env=ANTECEDENT_{key}={value}" for key, value in settings.items()]
        options = [f"--network=container:{name}-redis", volume, *environment, image]
        with Container(engine, name, *options) as service:
            return examine(service, health, compiles=image.endswith("-cuda"))  # Triton compiles while it runs


@contextmanager
def mounted(text: str, path: str) -> Iterator[str]:
    """An option by which a container finds a text in a file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        file = Path(folder, "mounted")
        file.write_text(text)
        file.chmod(0o644)  # to the container's user too, whatever the umask is here
        yield f"--volume={file}:{path}:ro"


def health_check(engine: str, image: str) -> list[str]:
    """The command by which the image says whether its service is ready.

    Raises:
        CannotCheckError: there is no such engine or image, or its health check is of another kind.
    """
    command = [engine, "image", "inspect", "--format={{json .Config.Healthcheck.Test}}", image]
    try:
        asked = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise CannotCheckError(f"{engine} cannot be run: {error.strerror}") from error
    if asked.returncode != 0:
        raise CannotCheckError(f"{engine} does not show {image}: {' '.join(asked.stderr.split())}")
    kind, *test = json.loads(asked.stdout)
    if kind != "CMD":
        raise CannotCheckError(f"the image's health check is a {kind}, not a CMD")
    return list(map(str, test))


def examine(service: Container, health: list[str], *, compiles: bool) -> bool:
    """Check one fact after the other; prints each, and the service's log if one is not so."""
    facts: dict[str, Callable[[], object]] = {
        "the health check passes": lambda: eventually(lambda: not service.refuses(*health)),
        "it runs as 10001:10001": lambda: service.run("sh", "-c", "id -u; id -g").split() == ["10001", "10001"],
        "its root file system is read-only": lambda: service.refuses("touch", "/models/written"),
        f"it has {'a' if compiles else 'no'} compiler": lambda: service.refuses("sh", "-c", COMPILER) != compiles,
        "it has no pip of its own": lambda: service.refuses("/opt/antecedent/bin/python", "-m", "pip", "--version"),
        "it reaches no network": lambda: service.refuses(
            "python", "-c", "import socket; socket.getaddrinfo('pypi.org', 443)"
        ),
        "it translates a document": lambda: translate(service),
        "it ends with status 0 when it is told to": lambda: service.stop() == 0,
    }
    for fact, holds in facts.items():
        if not holds():
            print(f"NOT SO: {fact}\n{service.logs()}")
            return False
        print(f"ok: {fact}", flush=True)
    return True


def translate(service: Container) -> bool:
    """Ask for a document and a sentence of a session, as a client with a key of its own."""
    key = service.run("python", "-m", "service.keys", "create", "--tenant", "check").splitlines()[-1]
    try:
        print(service.run("python", "-", key, given=CLIENT.read_text()))
    except subprocess.CalledProcessError:
        return False  # the client has said why
    return True


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether something becomes so in the time that a start may take."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(1)
    return False


def main() -> int:
    """Read the command line and check; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image")
    parser.add_argument("--engine", default="docker", help="docker or podman")
    arguments = parser.parse_args()
    try:
        return 0 if check(arguments.engine, arguments.image) else 1
    except CannotCheckError as error:
        print(f"check.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
