"""The models that run in this process: those that are served, and those that only finish their work."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from models.bundle.manifest import Manifest
from service.inference.batcher import Batcher
from service.inference.catalogue import Catalogue, Model
from service.inference.launcher import Launcher
from service.telemetry.logs import get_logger

_log = get_logger(__name__)


class Fleet:
    """Starts and ends models, and decides which of them the catalogue offers."""

    def __init__(self, catalogue: Catalogue, launcher: Launcher) -> None:
        self._catalogue = catalogue
        self._launcher = launcher
        self._running: dict[Model, asyncio.Task[None] | None] = {}
        """Each running model with the task that ends it, if there is one."""

    def batchers(self) -> Collection[Batcher[Any]]:
        """Return the batchers of all models that run."""
        return [model.batcher for model in self._running]

    async def launch(self, bundle: str, folder: Path, manifest: Manifest, *, one_by_one: bool) -> Model:
        """Start a model that is not in the catalogue yet; see `Launcher.launch`."""
        model = await self._launcher.launch(bundle, folder, manifest, one_by_one=one_by_one)
        self._running[model] = None
        _log.info("model_loaded", model=model.name, fingerprint=model.fingerprint)
        return model

    def serve(self, models: Sequence[Model]) -> None:
        """Put these models into the catalogue, in place of all others, which finish their work and end."""
        self._catalogue.switch(models)
        for model in self._running.keys() - set(models):
            self.let_end(model)

    def let_end(self, model: Model) -> None:
        """Let a model that is not in the catalogue any more finish its work and end."""
        if self._running[model] is None:
            self._running[model] = asyncio.create_task(self._end(model))

    async def abandon(self) -> None:
        """End all workers, restarting none, and answer every caller that still waits with ShuttingDownError."""
        await asyncio.gather(*(model.close() for model in self._running))

    async def close(self) -> None:
        """End all models at once."""
        ending = [task for task in self._running.values() if task is not None]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await asyncio.gather(*(model.close() for model in self._running))
        self._running.clear()

    async def _end(self, model: Model) -> None:
        await model.retire()
        del self._running[model]
        _log.info("model_unloaded", model=model.name, fingerprint=model.fingerprint)
