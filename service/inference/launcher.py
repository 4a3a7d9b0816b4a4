"""Turns a bundle's folder into a running model: its workers, and the batcher in front of them."""

from functools import partial
from pathlib import Path

from opentelemetry.trace import Tracer

from models.bundle.manifest import Manifest
from service.inference.backlog import Budget
from service.inference.batcher import Batcher
from service.inference.catalogue import Model
from service.inference.pool import WorkerPool
from service.inference.worker import Worker, WorkerCommand
from service.settings import Settings
from service.telemetry.metrics import Metrics

_MIB = 1024 * 1024


class Launcher:
    """Starts models; `translator` is the function, as `module:name`, that loads a bundle in a worker."""

    def __init__(self, settings: Settings, metrics: Metrics, tracer: Tracer, translator: str) -> None:
        self._settings = settings
        self._metrics = metrics
        self._tracer = tracer
        self._translator = translator

    async def launch(self, bundle: str, folder: Path, manifest: Manifest, *, one_by_one: bool) -> Model:
        """Start the workers of the bundle in `folder`, all together or one by one; the first one self-tests it.

        Raises:
            BundleError: the bundle cannot be served; no process is left running.
        """
        pool = self._pool(folder, manifest)
        await pool.open(one_by_one=one_by_one)
        settings = self._settings
        budget = Budget(settings.batch_characters, settings.batch_sentences, settings.batch_wait_ms / 1000)
        deadline = settings.deadline_seconds
        batcher = Batcher(pool, budget, deadline=deadline, metrics=self._metrics, tracer=self._tracer)
        batcher.open()
        return Model(manifest, pool, batcher, bundle)

    def _pool(self, folder: Path, manifest: Manifest) -> WorkerPool:
        settings = self._settings
        command = WorkerCommand(
            bundle=folder,
            fingerprint=manifest.fingerprint,
            device=settings.device,
            compute_type=settings.compute_type,
            timeout=settings.worker_timeout_seconds,
            start_timeout=settings.worker_start_seconds,
            translator=self._translator,
            otlp_endpoint=settings.otlp_endpoint,
        )
        most = settings.worker_memory_mib
        start = partial(Worker.start, command)
        return WorkerPool(start, settings.workers, self._metrics, most_memory=None if most is None else most * _MIB)
