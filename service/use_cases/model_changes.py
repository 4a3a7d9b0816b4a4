"""The use case of an administrator who changes models while the service runs; all replicas follow.

A record in Redis says what all replicas should serve. The replica that an administrator's call reaches first loads the
model, then writes the record, then serves the model. Without a record, the models named in the settings are served.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from models.errors import AntecedentError, BundleError
from service.background import in_background
from service.errors import (
    BundleNotFoundError,
    LastModelError,
    ModelChangeInProgressError,
    ModelChangesDisabledError,
    ModelNotFoundError,
    ModelNotReadyError,
    ModelRecordError,
    SessionModelNotLoadedError,
    StoreUnavailableError,
)
from service.inference.batcher import Batcher
from service.inference.bundle_folders import BundleFolders
from service.inference.catalogue import Catalogue, Model
from service.inference.fleet import Fleet
from service.store.model_record import KEY, ModelRecord, ModelRecords, WantedModel
from service.telemetry.logs import get_logger

RETRY_SECONDS = 60.0
"""After this time, a replica tries again to load models that it could not load."""

_log = get_logger(__name__)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar("_N", bound=_Named)


@dataclass(frozen=True, slots=True)
class NotLoaded:
    """A model that all replicas should serve, but this one could not load; `code` is that of the error.

    If `name` is that of the record, it could not be read, and stands for all models.
    """

    name: str
    code: str


@dataclass(frozen=True, slots=True)
class _Failed:
    """The wanted models when some could not be loaded, and when, in the event loop's time, to try again."""

    wanted: tuple[WantedModel, ...]
    again_at: float


class Models:
    """Changes the models of this replica, and follows changes by others; `can_change` if there is a bundle root."""

    def __init__(
        self, catalogue: Catalogue, fleet: Fleet, records: ModelRecords, folders: BundleFolders, *, can_change: bool
    ) -> None:
        self.catalogue = catalogue
        self._fleet = fleet
        self._records = records
        self._folders = folders
        self._can_change = can_change
        self._changing = asyncio.Lock()
        self._taking_over: asyncio.Task[None] | None = None
        """The task that holds the lock to follow others; it may be interrupted."""
        self._configured: tuple[WantedModel, ...] = ()
        self._failed = _Failed((), 0.0)
        self.not_loaded: tuple[NotLoaded, ...] = ()
        """The models that are wanted, but missing here; older bundles of the same names may be served instead."""

    @asynccontextmanager
    async def serving(self, refresh_seconds: float) -> AsyncIterator[None]:
        """Serve the record's models as far as they can be loaded, else those of the settings, and follow the record.

        Raises:
            BundleError: one of the settings' bundles cannot be served, or two have the same name.
            ModelRecordError: the record cannot be read.
        """
        try:
            await self._begin()
            async with in_background(*([self._follow(refresh_seconds)] if self._can_change else [])):
                yield
        finally:
            await self._fleet.close()

    def batchers(self) -> Collection[Batcher[Any]]:
        """Return the batchers of all running models, including those that only finish their work."""
        return self._fleet.batchers()

    async def abandon(self) -> None:
        """Fail all translations that are still waited for with ShuttingDownError."""
        await self._fleet.abandon()

    async def catch_up(self) -> None:
        """Serve the wanted models, unless they are served already, or recently could not be loaded.

        Raises:
            ModelRecordError, StoreUnavailableError: the record of wanted models cannot be read.
        """
        before = self.catalogue.models
        wanted = await self._wanted(await self._records.read())
        if self._changing.locked() or self.catalogue.models is not before:
            return  # an administrator's call has intervened
        if wanted == tuple(map(_wanted_of, before)):
            self.not_loaded = ()
            return
        if wanted != self._failed.wanted or asyncio.get_running_loop().time() >= self._failed.again_at:
            async with self._changing:
                await self._until_interrupted(self._take_over(wanted, one_by_one=True))

    async def load(self, bundle: str) -> Model:
        """Serve a bundle in addition to the others, or in place of one of the same name; one already served stays.

        Raises:
            ModelChangesDisabledError, ModelChangeInProgressError: changes are disabled, or another one is in progress.
            BundleNotFoundError, BundleError: there is none, or it cannot be served; the old one stays.
            StoreUnavailableError: the other replicas cannot be told, so nothing has changed.
        """
        async with self._change() as record:
            asked = await self._described(bundle)
            wanted, served = _with(await self._known(record), asked), self._served(asked)
            if served is not None:
                await self._replace(record, wanted)
                return served
            model = await self._launch(asked, one_by_one=True)
            try:
                await self._replace(record, wanted)
            except BaseException:
                self._fleet.let_end(model)
                raise
            self._fleet.serve(_with(self.catalogue.models, model))
            return model

    async def unload(self, name: str) -> None:
        """Stop serving a model; it finishes the work that it has been given.

        Raises:
            ModelChangesDisabledError, ModelChangeInProgressError: changes are disabled, or another one is in progress.
            ModelNotFoundError: there is none of that name.
            LastModelError: it is the only one.
            StoreUnavailableError: the other replicas cannot be told, so nothing has changed.
        """
        async with self._change() as record:
            known = await self._known(record)
            wanted, models = _without(known, name), _without(self.catalogue.models, name)
            if wanted == known:
                raise ModelNotFoundError(each.name for each in known)
            if not wanted or not models:
                raise LastModelError
            await self._replace(record, wanted)
            self._fleet.serve(models)

    async def for_session(self, name: str, fingerprint: str) -> Model:
        """Return the model that a session began with; see `Catalogue.for_session`.

        Raises:
            SessionModelNotLoadedError: it is no longer loaded.
            ModelNotReadyError: another replica already has it, and this one will soon.
            StoreUnavailableError, ModelRecordError: it is not known which of the two applies.
        """
        try:
            return self.catalogue.for_session(name, fingerprint)
        except SessionModelNotLoadedError:
            if self._can_change and await self._is_wanted(name, fingerprint):
                raise ModelNotReadyError from None
            raise

    async def _is_wanted(self, name: str, fingerprint: str) -> bool:
        """Return whether all replicas should serve a model."""
        wanted = await self._stated(await self._records.read())
        return (name, fingerprint) in {(each.name, each.fingerprint) for each in wanted}

    async def _begin(self) -> None:
        record = None
        if self._can_change:
            with suppress(StoreUnavailableError):  # the record is followed once Redis is back
                record = await self._records.read()
        if record is not None:
            await self._take_over(record.models, one_by_one=False)
        if not self.catalogue.models:
            self._fleet.serve([await self._launch(each, one_by_one=False) for each in await self._by_settings()])

    async def _follow(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.catch_up()
            except StoreUnavailableError:
                continue
            except (BundleError, BundleNotFoundError) as error:
                self._miss(self._folders.named, error)
            except ModelRecordError as error:
                self._miss((KEY,), error)
            except Exception:  # noqa: BLE001 - whatever it was, the next attempt may succeed
                _log.exception("models_not_followed")

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[ModelRecord | None]:
        """Allow one change at a time, and yield the record to be changed."""
        if not self._can_change:
            raise ModelChangesDisabledError
        if self._changing.locked() and not self._interrupt():
            raise ModelChangeInProgressError
        async with self._changing:
            yield await self._records.read()

    async def _until_interrupted(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._taking_over = asyncio.create_task(work)
        try:
            await asyncio.wait({task})
        finally:
            self._taking_over = None
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    def _interrupt(self) -> bool:
        """Cancel a change that only follows others, and return whether there was one.

        An administrator should not have to wait for a model that may never load.
        """
        task, self._taking_over = self._taking_over, None
        return task is not None and task.cancel()

    async def _replace(self, read: ModelRecord | None, wanted: Sequence[WantedModel]) -> None:
        if wanted != await self._stated(read) and not await self._records.replace(read, wanted):
            raise ModelChangeInProgressError  # at another replica

    async def _take_over(self, wanted: tuple[WantedModel, ...], *, one_by_one: bool) -> None:
        """Serve the wanted models as far as they can be loaded; for others, an older bundle of the same name stays."""
        launched: list[Model] = []
        try:
            self.not_loaded = tuple(await self._launch_all(wanted, launched, one_by_one=one_by_one))
        except BaseException:
            for model in launched:
                self._fleet.let_end(model)
            raise
        serving = {model.name: model for model in (*self.catalogue.models, *launched)}
        if models := [serving[each.name] for each in wanted if each.name in serving]:
            self._fleet.serve(models)
        again_at = asyncio.get_running_loop().time() + RETRY_SECONDS
        self._failed = _Failed(wanted if self.not_loaded else (), again_at)

    async def _launch_all(
        self, wanted: Sequence[WantedModel], launched: list[Model], *, one_by_one: bool
    ) -> list[NotLoaded]:
        """Add the models that are not served yet to `launched`, and return those that cannot be loaded."""
        not_loaded = []
        for each in wanted:
            if self._served(each) is not None:
                continue
            try:
                launched.append(await self._launch(each, one_by_one=one_by_one))
            except AntecedentError as error:
                _log.error("model_not_loaded", model=each.name, bundle=each.bundle, reason=str(error))
                not_loaded.append(NotLoaded(each.name, error.code))
        return not_loaded

    async def _launch(self, wanted: WantedModel, *, one_by_one: bool) -> Model:
        folder, manifest = await self._folders.read(wanted.bundle)
        if (manifest.name, manifest.fingerprint) != (wanted.name, wanted.fingerprint):
            raise BundleError(f"{folder}: does not contain the bundle that is wanted; load it again")
        return await self._fleet.launch(wanted.bundle, folder, manifest, one_by_one=one_by_one)

    async def _wanted(self, record: ModelRecord | None) -> tuple[WantedModel, ...]:
        return await self._by_settings() if record is None else record.models

    async def _stated(self, record: ModelRecord | None) -> tuple[WantedModel, ...]:
        """Return the wanted models; none if there is no record, and bundles named in the settings are gone."""
        try:
            return await self._wanted(record)
        except (BundleError, BundleNotFoundError):
            return ()

    async def _known(self, record: ModelRecord | None) -> tuple[WantedModel, ...]:
        """Return the models to be changed by an administrator: the wanted ones or, if not known, the served ones."""
        return await self._stated(record) or tuple(map(_wanted_of, self.catalogue.models))

    def _miss(self, names: Sequence[str], error: AntecedentError) -> None:
        """Go on with what is served, but note and log what would be missing after a restart.

        Once it is there, everything is checked anew.
        """
        missing = tuple(NotLoaded(name, error.code) for name in names)
        if missing != self.not_loaded:
            _log.error("model_not_loaded", bundles=names, reason=str(error))
        self.not_loaded, self._failed = missing, _Failed((), 0.0)

    async def _by_settings(self) -> tuple[WantedModel, ...]:
        """Return the settings' bundles as first read: later changes in their folders are not an administrator's."""
        if not self._configured:
            described = tuple([await self._described(bundle) for bundle in self._folders.named])
            names = [each.name for each in described]
            if twice := [name for name in names if names.count(name) > 1]:
                raise BundleError(f"two bundles have the name {twice[0]}")
            self._configured = described
        return self._configured

    async def _described(self, bundle: str) -> WantedModel:
        _, manifest = await self._folders.read(bundle)
        return WantedModel(manifest.name, bundle, manifest.fingerprint)

    def _served(self, wanted: WantedModel) -> Model | None:
        return next((model for model in self.catalogue.models if _wanted_of(model) == wanted), None)


def _wanted_of(model: Model) -> WantedModel:
    return WantedModel(model.name, model.bundle, model.fingerprint)


def _with(things: Sequence[_N], new: _N) -> tuple[_N, ...]:
    """Replace the thing of the same name, or append the new one."""
    return tuple({each.name: each for each in (*things, new)}.values())


def _without(things: Sequence[_N], name: str) -> tuple[_N, ...]:
    return tuple(each for each in things if each.name != name)
