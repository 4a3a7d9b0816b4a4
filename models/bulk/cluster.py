"""Parts of a corpus over a Ray cluster, by Ray Data: the only module that knows Ray.

The text of a part is read on the node of the driver, and its translation comes back there, so that the corpus need be
on no other node. A part whose worker, or its node, has died is given to another one.
"""

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import ray
import ray.data
from ray.exceptions import RayError

from models.bulk.attempts import Attempts
from models.bulk.parts import CorpusFile, Part
from models.bulk.worker import PartTranslator, Settings, Translation
from models.errors import ClusterError

_logger: Final = logging.getLogger(__name__)
IN_FLIGHT: Final = 2
"""Parts that a worker has: one in its hands, and the next one there when it has done that."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, each of whose nodes has this package and the bundle."""

    address: str
    """As `ray.init` takes it: `auto`, `HOST:PORT`, or `local` for a cluster of this machine alone."""
    workers: int | None = None
    """At most; without it, as many as there is room for."""

    def translate(self, corpus: CorpusFile, parts: Sequence[Part], settings: Settings) -> Iterator[Translation]:
        """Translate parts, and give them in whichever order they are ready.

        Raises:
            ClusterError: the cluster cannot be reached, or its workers fail.
        """

        def read(row: dict[str, Any]) -> dict[str, Any]:
            part = Part(**row)
            return {"key": part.key, "line": part.line, "sentences": part.sentences, "text": corpus.read(part)}

        with _connected(self.address) as node:
            here = {"ray.io/node-id": node}
            attempts: Any = ray.remote(num_cpus=0, label_selector=here)(Attempts).remote()
            # a block for each part: blocks are what workers are given, and what is done again
            rows = ray.data.from_items([asdict(part) for part in parts], override_num_blocks=len(parts))
            texts = rows.map(read, compute=ray.data.TaskPoolStrategy(size=1), num_cpus=0, label_selector=here)
            room = min(len(parts), self._room(settings))
            translations = texts.map(
                PartTranslator,
                fn_constructor_args=(settings, lambda key: ray.get(attempts.begin.remote(key))),
                compute=ray.data.ActorPoolStrategy(
                    min_size=1, initial_size=room, max_size=self.workers, max_tasks_in_flight_per_actor=IN_FLIGHT
                ),
                num_cpus=settings.threads,
                num_gpus=0 if settings.device == "cpu" else 1,
            )
            yield from (Translation(**row) for row in translations.iter_rows())

    def _room(self, settings: Settings) -> int:
        """How many workers there is room for now, so that they all start at once; a cluster may still grow.

        Raises:
            ClusterError: there is none in a cluster of this machine alone.
        """
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(_workers_of(resources, settings) for resources in nodes)
        if not room:
            cores = "1 CPU core" if settings.threads == 1 else f"{settings.threads} CPU cores"
            need = cores if settings.device == "cpu" else f"{cores} and a GPU"
            if self.address == "local":
                raise ClusterError(f"no worker can be placed: it needs {need}, and this machine has less")
            _logger.warning("no node has room for a worker, which needs %s: waiting for one that has", need)
        return max(1, room if self.workers is None else min(room, self.workers))


def _workers_of(resources: Mapping[str, float], settings: Settings) -> int:
    """How many workers a node with these resources can hold."""
    by_cores = int(resources.get("CPU", 0) / settings.threads)
    return by_cores if settings.device == "cpu" else min(by_cores, int(resources.get("GPU", 0)))


@contextmanager
def _connected(address: str) -> Iterator[str]:
    """The node of this process in the cluster, for as long as it is needed.

    Raises:
        ClusterError: there is no such cluster, or something fails on it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that is made here calls nobody
    try:
        _check_reachable(address)
        # nobody looks at the dashboard of a cluster that is there for one job, and it takes seconds to start
        own: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # noqa: BLE001 - Ray raises bare Exceptions
        raise ClusterError(f"no Ray cluster at {address}: {error}") from None
    _be_quiet()
    try:
        yield ray.get_runtime_context().get_node_id()
    except RayError as error:
        raise ClusterError(f"the cluster could not finish: {_reason(error)}") from None
    finally:
        ray.shutdown()


def _reason(error: RayError) -> str:
    """The last line of what went wrong first, without what Ray says about it."""
    first, _, _ = str(error).partition("The above exception was the direct cause")
    return first.strip().splitlines()[-1]


def _check_reachable(address: str) -> None:
    """Raise an OSError where nobody listens; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _be_quiet() -> None:
    """Leave progress to the command line, and the whole story to Ray's log files; an error is raised anyway."""
    ray.data.DataContext.get_current().enable_progress_bars = False
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)
