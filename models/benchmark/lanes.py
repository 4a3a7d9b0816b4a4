"""Lanes that translate side by side: processes with one thread each, as in the service, or CTranslate2's own threads.

The sentence backbone runs in CTranslate2 in this process, not in the lanes' processes, because torch becomes slower in
a process where CTranslate2 has run.
"""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, Self

from models.benchmark.lane import Command, Place, Translate, Way, Work, in_one_call, serve_in_process, translate
from models.bundle.manifest import BACKBONE, Manifest
from models.data.tokenizer import Tokenizer
from models.engine.backbone import BackboneEngine
from models.errors import BundleError
from models.search.hypotheses import SearchOptions

PATIENCE: Final = 900.0
"""Seconds after which a lane without an answer counts as failed."""
PEERS: Final[tuple[Way, ...]] = ("sentence", "float16")
"""The ways that run in CTranslate2."""


class Lanes:
    """Lanes with their own sentences each, which all begin at the same moment; they end with the `with` block."""

    def __init__(self, where: Place, count: int) -> None:
        """Set the number of lanes; they start with the `with` block."""
        self._where = where
        self._count = count
        self._threads = ThreadPoolExecutor(count)
        self._connections: list[Connection] = []
        self.processes: list[BaseProcess] = []
        """The lanes' processes."""
        self._work: Sequence[Work] = ()
        self._ended = ExitStack()
        self._peers: dict[Way, BackboneEngine] = {}

    def __enter__(self) -> Self:
        """Start the lanes; each loads the bundle.

        Raises:
            BundleError: a lane cannot load it.
        """
        with ExitStack() as started:
            started.callback(self._threads.shutdown)
            started.callback(self._peers.clear)
            self._connections = [self._start(started) for _ in range(self._count)]
            self._answers()
            self._ended = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the lanes."""
        self._ended.close()

    def give(self, work: Sequence[Work]) -> None:
        """Hand each lane its next sentences."""
        self._work = [in_one_call(part) for part in work]
        self._ask(work)

    def forget(self) -> None:
        """Make all lanes forget the context states that they keep."""
        self._ask([None] * self._count)

    def run(self, way: Way, options: SearchOptions) -> int:
        """Let every lane translate its sentences; return the number of target tokens of all.

        Raises:
            BundleError: a lane has failed.
        """
        if way in PEERS:
            return sum(self._threads.map(partial(translate, self._peer(way), options=options), self._work))
        return sum(self._ask([Translate(way, options)] * self._count))

    def _peer(self, way: Way) -> BackboneEngine:
        """Return CTranslate2 at its best: a thread for each lane, and all sentences of a lane in one call."""
        if way not in self._peers:
            self._peers[way] = self._load_peer(way)
        return self._peers[way]

    def _load_peer(self, way: Way) -> BackboneEngine:
        where = self._where
        stored = Manifest.load(where.folder).quantization if where.compute_type == "auto" else where.compute_type
        numbers = "float16" if way == "float16" else stored
        tokenizer = Tokenizer.load(where.folder)
        return BackboneEngine(where.folder / BACKBONE, tokenizer, where.device, numbers, 1, lanes=self._count)

    def _start(self, started: ExitStack) -> Connection:
        spawning = multiprocessing.get_context("spawn")
        ours, theirs = spawning.Pipe()
        process = spawning.Process(target=serve_in_process, args=(theirs, self._where), daemon=True)
        process.start()
        theirs.close()
        self.processes.append(process)
        started.callback(process.join)
        started.callback(ours.close)
        return ours

    def _ask(self, commands: Sequence[Command]) -> list[int]:
        for connection, command in zip(self._connections, commands, strict=True):
            with suppress(ConnectionError):  # its answer will not come either
                connection.send(command)
        return self._answers()

    def _answers(self) -> list[int]:
        return [_answer(connection) for connection in self._connections]


def _answer(connection: Connection) -> int:
    try:
        answer = connection.recv() if connection.poll(PATIENCE) else "a lane does not answer"
    except (EOFError, ConnectionError):
        answer = "a lane has died"
    if isinstance(answer, int):
        return answer
    raise BundleError(str(answer))
