"""Replicas forked from a process that has already imported the service, which is most of the work of a start.

Their workers are forks of them, for the same reason. Everything else is real: each is a process with its own
environment, output and signals. Tests of a service's start and end start it afresh instead, since a fork does not go
through interpreter shutdown.
"""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextvars import Context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

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
    from service.inference import worker  # noqa: PLC0415
    from tests.support.stand_in import LOAD  # noqa: PLC0415

    anew = worker._spawn

    async def spawn(command: Any, inherited: int, *, self_test: bool) -> Any:
        if command.otlp_endpoint:  # a fork would export the spans of the service once more
            return await anew(command, inherited, self_test=self_test)
        return ForkedWorker(command.arguments(inherited, self_test=self_test), command.environment(), inherited)

    worker._spawn = spawn
    sys.exit(main(translator=LOAD))


class ForkedWorker:
    """A worker, with the part of the interface of `asyncio.subprocess.Process` that the service needs."""

    def __init__(self, command: list[str], environment: Mapping[str, str], inherited: int) -> None:
        self.returncode: int | None = None
        self._ended = asyncio.Event()
        self.pid = os.fork()
        if self.pid == 0:
            Context().run(_work, command, environment, inherited)
        process = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(process, self._reap, process)

    def kill(self) -> None:
        """End it at once; it must not have ended."""
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int | None:
        """Wait until it has ended."""
        await self._ended.wait()
        return self.returncode

    def _reap(self, process: int) -> None:
        asyncio.get_running_loop().remove_reader(process)
        os.close(process)
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self._ended.set()


def _work(command: list[str], environment: Mapping[str, str], inherited: int) -> NoReturn:
    """Be a new process with this command line, as far as a fork can, until its end."""
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(nowhere, stream)
        os.closerange(3, inherited)
        os.closerange(inherited + 1, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(environment)
        from service.inference.worker_process import main  # noqa: PLC0415

        status = main(command[3:])  # without `python -m module`
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        os._exit(status)
