"""A fixed number of worker processes, each started anew when it dies."""

import asyncio
from collections.abc import Awaitable, Callable

from models.errors import AntecedentError
from service.inference.worker import Worker
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

_FIRST_BACKOFF, _LAST_BACKOFF = 0.1, 30.0

_log = get_logger(__name__)


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
