"""A fixed number of worker processes, each of which is replaced when it dies."""

import asyncio
from contextvars import Context
from typing import Protocol

from models.errors import AntecedentError, BundleError
from service.inference.worker import Worker
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

_FIRST_BACKOFF, _LAST_BACKOFF = 0.1, 30.0

_log = get_logger(__name__)


class StartWorker(Protocol):
    """Starts a worker, as `Worker.start` does."""

    async def __call__(self, *, self_test: bool = False) -> Worker:
        """Return a worker that has loaded its bundle; raise BundleError if it cannot."""


class WorkerPool:
    """A fixed number of workers with the same bundle; those that die are replaced, with growing delays if it recurs."""

    def __init__(self, start: StartWorker, size: int, metrics: Metrics, *, most_memory: int | None = None) -> None:
        """Make a pool of `size` workers; one that holds more than `most_memory` bytes is replaced once it is idle."""
        self._start = start
        self._size = size
        self._metrics = metrics
        self._most_memory = most_memory
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._workers: dict[int, Worker] = {}
        self._keepers: list[asyncio.Task[None]] = []

    async def open(self, *, one_by_one: bool = False) -> None:
        """Start all workers, the first of which self-tests the bundle; `one_by_one` leaves room for other work.

        Raises:
            BundleError: one of them cannot be started; none is left running.
        """
        slots = range(self._size)
        try:
            for together in [[slot] for slot in slots] if one_by_one else [slots]:
                outcomes = await asyncio.gather(*map(self._open, together), return_exceptions=True)
                for failure in outcomes:
                    if failure is not None:
                        raise failure
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End all workers; the work that they are at is lost."""
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

    @property
    def memory(self) -> int:
        """Bytes of memory that the living workers hold together."""
        return sum(worker.memory() for worker in self._workers.values() if worker.alive)

    async def acquire(self) -> Worker:
        """Wait for a living worker that is idle; it must be released again."""
        while not (worker := await self._idle.get()).alive:
            pass
        return worker

    def outgrown(self, worker: Worker) -> bool:
        """Return whether a worker holds so much memory that it should get no more work, and be released once idle."""
        if self._most_memory is None or self.alive < self._size:  # workers grow alike: one at a time
            return False
        return worker.memory() > self._most_memory

    def release(self, worker: Worker) -> None:
        """Give a worker back, dead or alive."""
        if self.outgrown(worker):
            _log.warning("worker_too_large", pid=worker.pid, bytes=worker.memory())
            worker.dismiss()
        if worker.alive:
            self._idle.put_nowait(worker)

    async def _open(self, slot: int) -> None:
        worker = await self._start(self_test=slot == 0)
        self._take_in(slot, worker)
        if self._most_memory is not None and (held := worker.memory()) > self._most_memory:
            most = self._most_memory // 2**20
            raise BundleError(
                f"a worker needs {held // 2**20} MiB for it, but ANTECEDENT_WORKER_MEMORY_MIB allows only {most}"
            )
        # In a fresh context: what becomes of the worker does not belong to the trace of the request that started it.
        self._keepers.append(asyncio.create_task(self._keep(slot, worker), context=Context()))

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
            if not worker.dismissed:
                _log.error("worker_died", pid=worker.pid, restart_in_seconds=backoff)
            await asyncio.sleep(backoff)
            worker = await self._restart(backoff)
            self._take_in(slot, worker)

    async def _restart(self, backoff: float) -> Worker:
        while True:
            self._metrics.worker_restarts.inc()
            try:
                return await self._start()
            except Exception as error:  # noqa: BLE001 - no error may leave the slot without a keeper
                backoff = min(2 * backoff, _LAST_BACKOFF)
                reason = str(error) if isinstance(error, AntecedentError) else type(error).__name__
                _log.error("worker_not_started", reason=reason, restart_in_seconds=backoff)
                await asyncio.sleep(backoff)
