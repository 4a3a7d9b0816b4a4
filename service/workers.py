"""Worker processes: started, fed with batches, watched, and started anew when they die.

The HTTP process holds no model; all it has of a worker is a process and a socket.
"""

import asyncio
import os
import socket
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from models.errors import AntecedentError, BundleError, RequestError, SentenceTooLongError, UnsupportedOptionError
from service.errors import WorkerDiedError
from service.logs import get_logger
from service.metrics import Metrics
from service.wire import GREETING, HEADER, OUTCOMES, Batch, Failure, Outcomes, encode
from service.worker_process import TRANSLATOR

_STOP_SECONDS = 5.0
_FIRST_BACKOFF, _LAST_BACKOFF = 0.1, 30.0
_SINGLE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_KNOWN_ERRORS = (RequestError, SentenceTooLongError, UnsupportedOptionError, BundleError)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start a worker; `timeout` is the seconds after which one that is silent over a batch is killed."""

    bundle: Path
    device: str
    compute_type: str
    timeout: float
    translator: str = TRANSLATOR

    def arguments(self, fd: int) -> list[str]:
        """The command line of a worker that inherits `fd`."""
        return [
            *(sys.executable, "-m", "service.worker_process", "--bundle", str(self.bundle), "--socket", str(fd)),
            *("--device", self.device, "--compute-type", self.compute_type, "--translator", self.translator),
        ]


class Worker:
    """One worker process that has greeted."""

    def __init__(self, process: Process, reader: StreamReader, writer: StreamWriter, timeout: float) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._timeout = timeout

    @classmethod
    async def start(cls, command: WorkerCommand) -> "Worker":
        """Start a process and wait until its bundle is loaded.

        Raises:
            BundleError: it cannot be served; the worker's own words.
            WorkerDiedError: the process ended before it could say anything.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = await _spawn(command.arguments(theirs.fileno()), theirs.fileno())
            except BaseException:
                ours.close()
                raise
        worker = cls(process, *await asyncio.open_connection(sock=ours), command.timeout)
        try:
            greeting = GREETING.validate_json(await worker._frame())
            if greeting.failure is not None:
                raise error_of(greeting.failure)
        except BaseException:
            await worker.stop()
            raise
        return worker

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and the connection stands."""
        return self._process.returncode is None and not self._writer.is_closing() and not self._reader.at_eof()

    async def translate(self, batch: Batch) -> Outcomes:
        """Have a batch translated.

        Raises:
            WorkerDiedError: the process died over it, or was silent for too long and was killed.
        """
        try:
            async with asyncio.timeout(self._timeout):
                self._writer.write(encode(batch))
                await self._writer.drain()
                outcomes = OUTCOMES.validate_json(await self._frame())
            if len(outcomes.results) != len(batch.requests):
                raise ValueError("a result for each job")
        except (OSError, TimeoutError, ValueError) as error:
            self._kill()
            raise WorkerDiedError from error
        except asyncio.CancelledError:
            self._kill()  # an answer that nobody reads would be taken for the next batch's
            raise
        return outcomes

    async def ended(self) -> None:
        """Wait until the process has ended."""
        await self._process.wait()
        self._writer.close()

    async def stop(self) -> None:
        """End the process: at once if it is idle, after a while in any case."""
        self._writer.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
        except TimeoutError:
            self._kill()
            await self._process.wait()

    async def _frame(self) -> bytes:
        try:
            (length,) = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise WorkerDiedError from error

    def _kill(self) -> None:
        self._writer.close()
        with suppress(ProcessLookupError):
            self._process.kill()


class WorkerPool:
    """A fixed number of workers with the same bundle; each that dies is replaced, later and later if it keeps dying."""

    def __init__(self, start: Callable[[], Awaitable[Worker]], size: int, metrics: Metrics) -> None:
        self._start = start
        self._size = size
        self._metrics = metrics
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._workers: dict[int, Worker] = {}
        self._keepers: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Start all workers.

        Raises:
            BundleError, WorkerDiedError: one of them cannot be started; none is left running.
        """
        started = await asyncio.gather(*(self._start() for _ in range(self._size)), return_exceptions=True)
        workers = [worker for worker in started if isinstance(worker, Worker)]
        for failure in started:
            if isinstance(failure, BaseException):
                await asyncio.gather(*(worker.stop() for worker in workers))
                raise failure
        for slot, worker in enumerate(workers):
            self._take_in(slot, worker)
            self._keepers.append(asyncio.create_task(self._keep(slot, worker)))

    async def close(self) -> None:
        """End all workers; what they are at is lost."""
        for keeper in self._keepers:
            keeper.cancel()
        if self._keepers:
            await asyncio.wait(self._keepers)
        await asyncio.gather(*(worker.stop() for worker in self._workers.values()))

    @property
    def alive(self) -> int:
        """How many workers can translate."""
        return sum(worker.alive for worker in self._workers.values())

    @property
    def size(self) -> int:
        """How many workers there should be."""
        return self._size

    async def acquire(self) -> Worker:
        """A living worker with nothing to do; it must be given back."""
        while not (worker := await self._idle.get()).alive:
            pass
        return worker

    def release(self, worker: Worker) -> None:
        """Give a worker back, dead or alive."""
        if worker.alive:
            self._idle.put_nowait(worker)

    def _take_in(self, slot: int, worker: Worker) -> None:
        self._workers[slot] = worker
        self._idle.put_nowait(worker)

    async def _keep(self, slot: int, worker: Worker) -> None:
        clock = asyncio.get_running_loop().time
        backoff = _FIRST_BACKOFF
        while True:
            began = clock()
            await worker.ended()
            backoff = _FIRST_BACKOFF if clock() - began > _LAST_BACKOFF else min(2 * backoff, _LAST_BACKOFF)
            _log.error("worker_died", pid=worker.pid, restart_in_seconds=backoff)
            await asyncio.sleep(backoff)
            worker = await self._restart(backoff)
            self._take_in(slot, worker)

    async def _restart(self, backoff: float) -> Worker:
        while True:
            self._metrics.worker_restarts.inc()
            try:
                return await self._start()
            except (AntecedentError, OSError) as error:
                backoff = min(2 * backoff, _LAST_BACKOFF)
                _log.error("worker_not_started", error=type(error).__name__, restart_in_seconds=backoff)
                await asyncio.sleep(backoff)


async def _spawn(arguments: Sequence[str], inherited: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *arguments,
        stdin=DEVNULL,
        stdout=DEVNULL,
        pass_fds=(inherited,),
        env=os.environ | _SINGLE_THREAD,
        start_new_session=True,  # the terminal's Ctrl-C is for the HTTP process, which drains
    )


def error_of(failure: Failure) -> AntecedentError:
    """The error that a worker has reported, as it was raised there."""
    kinds = {kind.code: kind for kind in _KNOWN_ERRORS}
    return kinds.get(failure.code, RequestError)(failure.message)
