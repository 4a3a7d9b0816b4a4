"""The runtime called directly: processes with a thread and a model each, like the service's workers, but no service.

The service is measured against this: whatever it adds to the time of these calls is its own cost.
"""

import multiprocessing
import os
import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from loadtests.errors import LoadTestError
from models.engine.requests import Options, Translation, TranslationRequest
from models.errors import AntecedentError

if TYPE_CHECKING:
    from models.engine.runtime import Runtime

Batch = Sequence[TranslationRequest]


@dataclass(frozen=True, slots=True)
class Budget:
    """When a batch is full: characters, including context, and sentences. The service gets the same limits."""

    characters: int = 8192
    sentences: int = 64

    @classmethod
    def on(cls, device: str) -> "Budget":
        """Return the budget for a device: the service's default on a CPU, that of docker-compose.gpu.yml on a GPU."""
        return cls() if device == "cpu" else cls(32768, 256)


def batches_of(requests: Sequence[TranslationRequest], budget: Budget) -> Sequence[Batch]:
    """Split requests, in order, into batches as full as possible; one too long for a batch gets one of its own."""
    batches: list[list[TranslationRequest]] = []
    room = 0
    for request in requests:
        characters = len(request.source) + sum(len(sentence.source) for sentence in request.preceding)
        if not batches or characters > room or len(batches[-1]) == budget.sentences:
            batches.append([])
            room = budget.characters
        batches[-1].append(request)
        room -= characters
    return batches


class DirectWorker:
    """A process with a runtime; `direct_workers` makes them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def translate(self, batch: Batch) -> tuple[Sequence[Translation], float]:
        """Return the translations, and the seconds that the runtime took for them.

        Raises:
            LoadTestError: the process cannot load the bundle, or has ended.
        """
        try:
            self._connection.send(batch)
            answer: tuple[Sequence[Translation], float] | LoadTestError = self._connection.recv()
        except (EOFError, OSError) as error:
            raise LoadTestError("a process with the runtime has ended; what it says stands above") from error
        if isinstance(answer, LoadTestError):
            raise answer
        return answer


class DirectWorkers:
    """Several workers, each of which takes the next batch when it is idle."""

    def __init__(self, workers: Sequence[DirectWorker], pool: ThreadPoolExecutor) -> None:
        self.workers = workers
        self._pool = pool
        self._idle: queue.SimpleQueue[DirectWorker] = queue.SimpleQueue()
        for worker in workers:
            self._idle.put(worker)

    def translate(self, batches: Sequence[Batch]) -> list[Translation]:
        """Translate all batches; return the translations in their order."""
        return [translation for done in self._pool.map(self._translate, batches) for translation in done]

    def _translate(self, batch: Batch) -> Sequence[Translation]:
        worker = self._idle.get()
        try:
            return worker.translate(batch)[0]
        finally:
            self._idle.put(worker)


@contextmanager
def direct_workers(count: int, bundle: Path, device: str) -> Iterator[DirectWorkers]:
    """Start `count` processes and wait until each has loaded the bundle onto a device; kill them afterwards."""
    context = multiprocessing.get_context("spawn")
    with ThreadPoolExecutor(count) as pool, ExitStack() as stack:  # threads end when what they wait for has ended
        workers = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, bundle, device), daemon=True)
            process.start()
            theirs.close()
            stack.callback(process.join)
            stack.callback(process.kill)
            workers.append(DirectWorker(ours))
        for worker in workers:
            worker.translate([])
        yield DirectWorkers(workers, pool)


def _serve(connection: Connection, bundle: Path, device: str) -> None:
    os.setsid()  # like the service's workers: on a busy machine, Linux may share out the cores by session
    try:
        runtime = _load(bundle, device)
    except AntecedentError as error:
        connection.recv()  # stay until asked: nothing can be sent to a process that has ended
        connection.send(LoadTestError(str(error)))
        return
    while True:
        try:
            batch: Batch = connection.recv()
        except EOFError:
            return
        began = time.perf_counter()
        translations = runtime.translate(batch, Options())
        connection.send((translations, time.perf_counter() - began))


def _load(bundle: Path, device: str) -> "Runtime":
    from models.engine.runtime import Runtime  # noqa: PLC0415 - here, so that only these processes load torch

    return Runtime.load(bundle, device=device, threads=1)
