"""Translation of a corpus's parts on a Ray cluster, by Ray Data: the only module that knows Ray.

The text of a part is read on the driver's node, and its translation comes back there, so no other node needs the
corpus. A part whose worker or node has died is given to another worker.
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
"""Parts assigned to a worker at a time: the one being translated, and the next one, ready to start."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster with this package and the bundle on each node."""

    address: str
    """Address as for `ray.init`: `auto`, `HOST:PORT`, or `local` for a cluster of this machine alone."""
    workers: int | None = None
    """Maximum number of workers; if None, as many as there is room for."""

    def translate(self, corpus: CorpusFile, parts: Sequence[Part], settings: Settings) -> Iterator[Translation]:
        """Translate parts, and yield translations in whichever order they are ready.

        Raises:
            ClusterError: the cluster cannot be reached, or its workers fail.
        """

        def read(row: dict[str, Any]) -> dict[str, Any]:
            part = Part(**row)
            return {"key": part.key, "line": part.line, "sentences": part.sentences, "text": corpus.read(part)}

        with _connected(self.address) as node:
            here = {"ray.io/node-id": node}
            attempts: Any = ray.remote(num_cpus=0, label_selector=here)(Attempts).remote()
            # one block per part, since blocks are the unit of assignment and of retries
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
        """Return how many workers there is room for now, so that all start at once; a cluster may still grow.

        Raises:
            ClusterError: there is no room in a cluster of this machine alone.
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
    """Return how many workers a node with these resources can hold."""
    by_cores = int(resources.get("CPU", 0) / settings.threads)
    return by_cores if settings.device == "cpu" else min(by_cores, int(resources.get("GPU", 0)))


@contextmanager
def _connected(address: str) -> Iterator[str]:
    """Connect to the cluster within the block; yield this process's node id.

    Raises:
        ClusterError: there is no such cluster, or an operation on it fails.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster started here reports no usage
    try:
        _check_reachable(address)
        # the dashboard of a cluster for a single job goes unused, and takes seconds to start
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
    """Return the last line of the original error, without Ray's own text."""
    first, _, _ = str(error).partition("The above exception was the direct cause")
    return first.strip().splitlines()[-1]


def _check_reachable(address: str) -> None:
    """Raise an OSError if nothing is listening; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _be_quiet() -> None:
    """Leave progress to the command line, and details to Ray's log files; errors are raised anyway."""
    ray.data.DataContext.get_current().enable_progress_bars = False
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)
