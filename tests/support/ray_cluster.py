"""A local Ray cluster with two workers, jobs on it, and ways to take a worker away."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

PATIENCE = 90.0
"""Seconds to wait before giving up on a cluster that makes no progress."""
HELD = 4
"""The most parts that a worker can hold: in translation, waiting for it, or translated but not yet fetched."""


class TwoWorkers:
    """A cluster with room for two workers."""

    def __init__(self, folder: str, *options: str) -> None:
        # only holders of the secret can use the cluster, and it sends no usage statistics
        secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
        self.environment = os.environ | secret | {"RAY_TMPDIR": folder}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.ray_cluster_process", folder, *options],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            raise RuntimeError("the cluster has not started")
        told = json.loads(line)
        self.address = str(told["address"])
        """The argument for `--ray`."""
        self._nodes = [psutil.Process(node) for node in told["nodes"]]

    def workers(self) -> list[psutil.Process]:
        """The worker processes, which translate."""
        return [worker for node in self._nodes for worker in _workers_of(node)]

    def lose_node(self, worker: psutil.Process) -> None:
        """Kill the node of a worker with everything on it."""
        (node,) = (node for node in self._nodes if worker in _workers_of(node))
        self._nodes.remove(node)
        _kill(node)

    def close(self) -> None:
        """End the cluster."""
        remains = psutil.Process(self._process.pid).children(recursive=True)
        self._process.communicate()
        for process in remains:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _workers_of(node: psutil.Process) -> list[psutil.Process]:
    return [child for child in node.children() if _translates(child)]


def _translates(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.name().startswith("ray::MapWorker") and process.status() != psutil.STATUS_ZOMBIE
    return False


def _kill(node: psutil.Process) -> None:
    for process in [node, *node.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


@contextmanager
def ray_folder() -> Iterator[str]:
    """A folder for everything that Ray writes; the path of pytest's own is too long for sockets."""
    with TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        # Ray writes the address of the last cluster into a folder that it does not create
        (Path(folder) / "ray").mkdir()
        yield folder


@contextmanager
def two_workers(*options: str) -> Iterator[TwoWorkers]:
    """A cluster that is removed without trace afterwards; with `--apart`, each worker is on a node of its own."""
    with ray_folder() as folder:
        cluster = TwoWorkers(folder, *options)
        try:
            yield cluster
        finally:
            cluster.close()


@dataclass
class BulkJob:
    """`python -m models translate --ray`, greedily and in small parts."""

    cluster: TwoWorkers
    bundle: Path
    source: Path
    out: Path
    parts: int
    """How many parts, of ten sentences each, the corpus has."""
    command: str = "models"
    _drivers: list["subprocess.Popen[str]"] = field(default_factory=list)

    def start(self, *options: str) -> "subprocess.Popen[str]":
        """Start it, or restart it."""
        paths = [str(self.bundle), "--in", str(self.source), "--out", str(self.out)]
        how = ["--ray", self.cluster.address, "--part", "10", "--beam", "1", *options]
        command = [sys.executable, "-m", self.command, "translate", *paths, *how]
        driver = subprocess.Popen(command, env=self.cluster.environment, stderr=subprocess.PIPE, text=True)
        self._drivers.append(driver)
        return driver

    def close(self) -> None:
        """Kill every run that is still going."""
        for driver in self._drivers:
            with driver:
                driver.kill()

    def kept(self) -> int:
        """How many translated parts have been saved."""
        return len(list(self.out.with_name(f"{self.out.name}.parts").glob("*.part")))

    def freeze_worker(self) -> psutil.Process:
        """Freeze a worker in the middle of its work, and wait until the other one has done everything else."""
        before = self.kept()
        wait_until(lambda: self.kept() > before)
        worker = self.cluster.workers()[0]
        worker.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.kept() >= self.parts - HELD)
        return worker


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing has happened in {PATIENCE} s")
        time.sleep(0.1)
