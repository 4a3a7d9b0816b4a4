"""Replicas that begin as forks of a process that has the service imported, which is most of a start's work.

All else is real: processes of their own, with their own environment, output and signals. Tests of the start and the end
of a service have it started anew, since a fork ends without the end of an interpreter.
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
        """A fork in the place of a process that is started anew."""
        return Fork(environment, self._folder / "stderr")


class Fork:
    """A process with what tests want of `subprocess.Popen`."""

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
        """Its exit status, or the signal that has ended it below 0; None as long as it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
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
    from service.__main__ import main  # noqa: PLC0415 - the process that is forked has it, others need not
    from tests.support.stand_in import LOAD  # noqa: PLC0415

    sys.exit(main(translator=LOAD))
