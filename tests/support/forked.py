"""Replicas forked from a process that has already imported the service, which is most of the work of a start.

Everything else is real: each is a process with its own environment, output and signals. Tests of a service's start and
end start it afresh instead, since a fork does not go through interpreter shutdown.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

from loadtests.stage.processes import ROOT, Replica

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["service.__main__", "tests.support.stand_in"])


class ForkedReplica(Replica):
    """A replica on the stand-in runtime."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(folder, "tests.support.stand_in", environment)

    def popen(self, environment: Mapping[str, str]) -> "Fork":
        """Fork instead of starting a new process."""
        return Fork(environment, self._folder / "stderr")


class Fork:
    """A process with the part of the interface of `subprocess.Popen` that tests need."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        reader, writer = _FORKS.Pipe(duplex=False)
        self._process = _FORKS.Process(target=_serve, args=(dict(environment), writer, log), daemon=True)
        self._process.start()
        writer.close()
        self.stdout = os.fdopen(os.dup(reader.fileno()))
        reader.close()
        self.pid = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        """Its exit status, or minus the number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same as `returncode`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, by SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stdout.close()
        self.wait()


def _serve(environment: dict[str, str], stdout: Connection, log: Path) -> None:
    with log.open("a") as stderr:
        os.dup2(stderr.fileno(), 2)
    os.dup2(stdout.fileno(), 1)
    stdout.close()
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = ["stand-in"]
    from service.__main__ import main  # noqa: PLC0415 - only the fork server needs to import it
    from tests.support.stand_in import LOAD  # noqa: PLC0415

    sys.exit(main(translator=LOAD))
