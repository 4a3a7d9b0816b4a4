"""A worker process as seen by the HTTP process: a process and a socket. The model is on the other side."""

import asyncio
import os
import socket
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from models.errors import (
    AntecedentError,
    BundleError,
    RequestError,
    SelfTestError,
    SentenceTooLongError,
    UnsupportedOptionError,
)
from service.errors import WorkerDiedError
from service.inference.wire import GREETING, HEADER, OUTCOMES, Batch, Failure, Order, Outcomes, encode
from service.inference.worker_process import OTLP_ENDPOINT, TRANSLATOR

_STOP_SECONDS = 5.0
_SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_KNOWN_ERRORS = (RequestError, SentenceTooLongError, UnsupportedOptionError, BundleError, SelfTestError)


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start a worker.

    The worker refuses a bundle without this `fingerprint`, which may be in the folder by then. A worker is killed if it
    has sentences but answers none for `timeout` seconds, or if it takes longer than `start_timeout` seconds to load.
    """

    bundle: Path
    fingerprint: str
    device: str
    compute_type: str
    timeout: float
    start_timeout: float
    translator: str = TRANSLATOR
    otlp_endpoint: str | None = None

    def arguments(self, fd: int, *, self_test: bool) -> list[str]:
        """Return the command line of a worker that inherits the file descriptor `fd`."""
        tested = ["--self-test"] if self_test else []
        return [
            *(sys.executable, "-m", "service.inference.worker_process"),
            *("--bundle", str(self.bundle), "--fingerprint", self.fingerprint, "--socket", str(fd)),
            *("--device", self.device, "--compute-type", self.compute_type, "--translator", self.translator),
            *tested,
        ]

    def environment(self) -> dict[str, str]:
        """Return its environment, where other users cannot read what the collector's address may hold: a key."""
        return os.environ | _SINGLE_THREAD | {OTLP_ENDPOINT: self.otlp_endpoint or ""}


class Worker:
    """One worker process; `start` returns it once it has sent its greeting."""

    def __init__(self, process: Process, reader: StreamReader, writer: StreamWriter, timeout: float) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._timeout = timeout
        self._dismissed = False
        self._owed: set[int] = set()
        """Numbers of the sentences that it has not answered yet."""
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, command: WorkerCommand, *, self_test: bool = False) -> "Worker":
        """Start a process and wait until its bundle is loaded and, if requested, has passed its self-test.

        Raises:
            BundleError: the bundle cannot be served, for the reason that the worker gives; or the process ended without
                giving any, took too long, or could not be started.
        """
        try:
            process, ours = await _connected(command, self_test=self_test)
        except OSError as error:
            raise BundleError(f"{command.bundle}: no worker process can be started: {error.strerror}") from None
        try:
            worker = cls(process, *await asyncio.open_connection(sock=ours), command.timeout)
        except BaseException:  # also CancelledError: the caller may not want it any more
            ours.close()
            process.kill()
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            raise
        await worker._greeted(command)
        return worker

    async def _greeted(self, command: WorkerCommand) -> None:
        """Wait for the greeting; end the process if there is none.

        Raises:
            BundleError: as `start`.
        """
        try:
            async with asyncio.timeout(command.start_timeout):
                greeting = GREETING.validate_json(await self._frame())
            if greeting.failure is not None:
                raise error_of(greeting.failure)
        except TimeoutError:
            await self._kill_stuck()
            raise BundleError(
                f"{command.bundle}: a worker process has not loaded this bundle within {command.start_timeout:g} s, and"
                " was killed; allow more time (ANTECEDENT_WORKER_START_SECONDS) if this is a first start, which"
                " compiles kernels, on a busy machine; otherwise check the disk"
            ) from None
        except WorkerDiedError:
            await self.stop()
            raise BundleError(
                f"{command.bundle}: a worker process ended while it loaded this bundle, with status"
                f" {self._process.returncode}; the log may say why, or there may not be enough memory"
            ) from None
        except BaseException:
            await self.stop()
            raise

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and its connection is open."""
        return self._process.returncode is None and not self._writer.is_closing() and not self._reader.at_eof()

    @property
    def dismissed(self) -> bool:
        """Whether it was told to end."""
        return self._dismissed

    def memory(self) -> int:
        """Return the bytes of memory that the process holds; 0 if it has ended."""
        try:
            resident: int = psutil.Process(self.pid).memory_info().rss
        except psutil.Error:
            return 0
        return resident

    def dismiss(self) -> None:
        """Tell an idle process to end, and kill it if it has not after a while; return without waiting."""
        self._dismissed = True
        self._writer.close()
        asyncio.get_running_loop().call_later(_STOP_SECONDS, self._kill)

    def send(self, order: Order) -> None:
        """Send it sentences, or tell it to drop one; if it is dead, do nothing: `receive` will report that."""
        if not self.alive:
            return
        self._writer.write(encode(order))
        if isinstance(order, Batch):
            self._owed |= {job.number for job in order.jobs}
            if self._timer is None:
                self._restart_timer()

    async def receive(self) -> Outcomes:
        """Return the outcomes of the next sentences that it has finished.

        Raises:
            WorkerDiedError: the process died, or was silent for too long and was killed; nothing more will come.
        """
        try:
            outcomes = OUTCOMES.validate_json(await self._frame())
            answered = {outcome.number for outcome in outcomes.outcomes}
            if not answered <= self._owed:
                raise ValueError("an answer to what was not asked")
        except ValueError as error:
            self._kill()
            raise WorkerDiedError from error
        except WorkerDiedError:
            asyncio.get_running_loop().call_later(_STOP_SECONDS, self._kill)  # if it has not ended by itself
            raise
        except asyncio.CancelledError:
            if self._owed:
                self._dismissed = True
                self._kill()  # nobody would read its answers
            raise
        self._owed -= answered
        self._restart_timer()
        return outcomes

    async def ended(self) -> None:
        """Wait until the process has ended."""
        await self._process.wait()
        self._cancel_timer()
        self._writer.close()

    async def stop(self) -> None:
        """End the process: it ends by itself at once if it is idle, and is killed if it has not after a while."""
        self._writer.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            await self._kill_stuck()
        except asyncio.CancelledError:  # nobody waits any more, and it may never end by itself
            self._kill()
            raise

    async def _kill_stuck(self) -> None:
        """Kill it and wait a while; a process stuck in disk access ends only when that returns, which may be never."""
        self._kill()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()

    async def _frame(self) -> bytes:
        try:
            (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise WorkerDiedError from error

    def _restart_timer(self) -> None:
        """Restart the timeout if the worker owes any answers."""
        self._cancel_timer()
        if self._owed:
            self._timer = asyncio.get_running_loop().call_later(self._timeout, self._kill)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _kill(self) -> None:
        self._cancel_timer()
        self._writer.close()
        with suppress(ProcessLookupError):
            self._process.kill()


async def _connected(command: WorkerCommand, *, self_test: bool) -> tuple[Process, socket.socket]:
    """Start a process; return it and our end of the connection to it."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            return await _spawn(command, theirs.fileno(), self_test=self_test), ours
        except BaseException:
            ours.close()
            raise


async def _spawn(command: WorkerCommand, inherited: int, *, self_test: bool) -> Process:
    return await asyncio.create_subprocess_exec(
        *command.arguments(inherited, self_test=self_test),
        stdin=DEVNULL,
        stdout=DEVNULL,
        pass_fds=(inherited,),
        env=command.environment(),
        start_new_session=True,  # the terminal's Ctrl-C must reach only the HTTP process, which drains
    )


def error_of(failure: Failure) -> AntecedentError:
    """Return the error that a worker has reported, as it was raised there."""
    kinds = {kind.code: kind for kind in _KNOWN_ERRORS}
    return kinds.get(failure.code, RequestError)(failure.message)
