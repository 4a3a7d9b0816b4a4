"""Real processes for tests: a Redis and replicas of the service, which tests can kill and restart."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from loadtests.stage.processes import ROOT, RedisServer, Replica, eventually, free_port, hold_port
from models.bundle.manifest import Manifest
from tests.support.forked import ForkedReplica

__all__ = [
    "ROOT",
    "RedisServer",
    "Replica",
    "Replicas",
    "bundle",
    "child",
    "children",
    "eventually",
    "free_port",
    "hold_port",
    "workers",
]


PATIENT = {"redis_timeout_seconds": "15", "redis_total_seconds": "30"}
"""Settings under which Redis does not count as unavailable merely because this machine was busy for a while."""


class Replicas:
    """Makes replicas on the stand-in runtime, each with its own files, and ends them all.

    They are forks, unless `anew`, which starts each as users start the service.
    """

    def __init__(self, folder: Path, bundle: Path, *, anew: bool = False) -> None:
        self._folder = folder
        self._bundle = bundle
        self._kind = partial(Replica, module="tests.support.stand_in") if anew else ForkedReplica
        self._made: list[Replica] = []

    def new(self, **settings: str) -> Replica:
        """Make another one with these settings; it is not yet started."""
        folder = self._folder / f"replica-{len(self._made)}"
        folder.mkdir()
        default = PATIENT | {"bundles": str(self._bundle), "redis_folder": str(self._folder / "redis")}
        environment = {f"ANTECEDENT_{name.upper()}": value for name, value in (default | settings).items()}
        self._made.append(self._kind(folder, environment=environment))
        return self._made[-1]

    def close(self) -> None:
        """End the ones that still run."""
        for replica in self._made:
            replica.close()


def children(pid: int) -> list[tuple[int, str]]:
    """Process id and command line of each child of a process, without those that end meanwhile."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):
            found.append((child.pid, " ".join(child.cmdline())))
    return found


def workers(pid: int) -> list[int]:
    """The process ids of the workers of a service, started anew or forked."""
    return sorted(number for number, command in children(pid) if "worker_process" in command or "forkserver" in command)


def child(pid: int, named: str) -> int:
    """The process id of the only child whose command line contains `named`."""
    (found,) = [number for number, command in children(pid) if named in command]
    return found


def bundle(
    folder: Path,
    *,
    name: str = "stand-in",
    source: str = "ja",
    target: str = "en",
    window: int = 2,
    reads_target_context: bool = False,
    accent: str = "",
    unsure_below: float | None = None,
) -> Path:
    """Make a bundle without a model, for the stand-in runtime; its translations end with `accent`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "accent").write_text(accent)
    Manifest.model_validate(
        {
            "name": name,
            "languages": {"source": source, "target": target},
            "backbone": {},
            "architecture": {"kind": "doc_transformer", "context_sentences": max(window, 1)},
            "vocabulary": {"source": 100, "target": 100, "joint": True},
            "window": {"size": window},
            "no_context": "module",
            "reads_target_context": reads_target_context,
            "decoding": {},
            "limits": {"split_tokens": 100, "source_tokens": 200},
            "quantization": "int8",
            "provenance": {"training_data": "none", "licence": "CC0-1.0", "attribution": f"nobody{accent}"},
            "scores": {},
            "unsure_below": unsure_below,
            "files": {},
        }
    ).save(folder)
    return folder
