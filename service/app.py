"""The application: its parts, and the order in which they start and end. Wiring only."""

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import Tracer

from service.access.factory import configured_access
from service.access.keyring import Access
from service.access.limiter import Limiter
from service.access.local_limits import LocalLimits
from service.access.shared_limits import SharedLimits
from service.files.jobs import FileJobs
from service.http import guards, handlers, pages
from service.http.openapi import DescribedAPI
from service.inference.admission import Admission
from service.inference.bundle_folders import BundleFolders
from service.inference.catalogue import Catalogue
from service.inference.fleet import Fleet
from service.inference.launcher import Launcher
from service.inference.wire import PRIORITIES
from service.inference.worker_process import TRANSLATOR
from service.routes import (
    deepl,
    deepl_files,
    deepl_glossaries,
    deepl_multilingual,
    documents,
    files,
    health,
    libretranslate,
    models,
    sessions,
    streams,
)
from service.routes.dependencies import Services
from service.schemas.limits import Limits
from service.settings import Settings
from service.store.commands import Commands
from service.store.context_store import ContextStore
from service.store.files import Files
from service.store.glossaries import Glossaries
from service.store.model_record import ModelRecords
from service.store.opening import open_redis
from service.streams.open_streams import OpenStreams, StreamLimits
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER
from service.use_cases.documents import Documents
from service.use_cases.model_changes import Models
from service.use_cases.sessions import Sessions

_NO_NATIVE_TELEMETRY: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI's own spans contain paths, and with them ids of sessions; its log records, messages of exceptions."""


def create_app(settings: Settings, *, translator: str = TRANSLATOR, tracer: Tracer = NO_TRACER) -> FastAPI:
    """Create the application; everything that it needs starts and ends with its lifespan.

    `translator` is the function, as `module:name`, that loads a bundle in a worker.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings, metrics, tracer, translator) as services:
            app.state.services, app.state.access = services, services.access
            yield

    app = DescribedAPI(
        title="Antecedent",
        summary="Translates documents sentence by sentence, each with the sentences before it as context",
        version="1",
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        telemetry=_NO_NATIVE_TELEMETRY,
    )
    guards.install(app, settings, metrics, tracer, _new_id)
    handlers.install(app, metrics)
    pages.install(app)
    for routes in (
        documents,
        files,
        sessions,
        streams,
        models,
        health,
        deepl,
        deepl_files,
        deepl_glossaries,
        deepl_multilingual,
        libretranslate,
    ):
        app.include_router(routes.router)
    return app


@asynccontextmanager
async def running(settings: Settings, metrics: Metrics, tracer: Tracer, translator: str) -> AsyncIterator[Services]:
    """Start the workers, and Redis if it is the service's own; end them afterwards.

    Raises:
        BundleError, StartupError: one of them cannot be started.
        KeyStorageError: API keys are configured, but cannot be read.
    """
    async with AsyncExitStack() as stack:
        commands = await stack.enter_async_context(open_redis(settings, metrics, tracer))
        models = _models(settings, commands, Launcher(settings, metrics, tracer, translator))
        await stack.enter_async_context(models.serving(settings.models_refresh_seconds))
        access = await stack.enter_async_context(configured_access(settings, commands, metrics))
        parts = _services(models, access, commands, settings, metrics, tracer)
        await stack.enter_async_context(_file_jobs(parts, settings).serving())
        yield parts


def _models(settings: Settings, redis: Commands, launcher: Launcher) -> Models:
    catalogue = Catalogue()
    folders = BundleFolders(settings.bundles, settings.bundle_root)
    can_change = settings.bundle_root is not None
    return Models(catalogue, Fleet(catalogue, launcher), ModelRecords(redis, _new_id), folders, can_change=can_change)


def _services(
    models: Models, access: Access, redis: Commands, settings: Settings, metrics: Metrics, tracer: Tracer
) -> Services:
    catalogue = models.catalogue
    admission = Admission(settings.queue_limit, models.batchers)
    for priority in PRIORITIES:
        metrics.waiting.labels(priority).set_function(partial(admission.waiting, priority))
    metrics.models_not_loaded.set_function(lambda: len(models.not_loaded))
    metrics.watch_workers(catalogue.workers)
    store = ContextStore(redis, settings.max_session_sentences, settings.session_sentences_per_minute)
    limits = StreamLimits(settings.stream_in_flight, settings.stream_idle_seconds)
    return Services(
        access=access,
        models=models,
        redis=redis,
        documents=Documents(catalogue, admission, settings, _new_id),
        sessions=Sessions(models, admission, store, settings, metrics, _new_id),
        glossaries=Glossaries(redis, settings.max_glossaries),
        files=Files(
            redis,
            ttl_seconds=settings.file_ttl_seconds,
            lease_seconds=settings.session_lease_seconds,
            most=settings.max_files,
            most_bytes=settings.max_files_bytes,
        ),
        limiter=_limiter(redis, settings),
        streams=OpenStreams(settings.stream_limit, limits, metrics),
        limits=Limits.model_validate(settings, from_attributes=True),
        metrics=metrics,
        tracer=tracer,
        new_id=_new_id,
    )


def _file_jobs(parts: Services, settings: Settings) -> FileJobs:
    return FileJobs(
        parts.files,
        parts.documents,
        parts.metrics,
        parts.new_id,
        at_once=settings.files_at_once,
        lease_seconds=settings.session_lease_seconds,
        draining=lambda: parts.draining,
    )


def _limiter(redis: Commands, settings: Settings) -> Limiter:
    lease_seconds = settings.concurrency_lease_seconds
    return Limiter(
        SharedLimits(redis, lease_seconds),
        LocalLimits(time.monotonic),
        per_minute=settings.sentences_per_minute,
        concurrency=settings.concurrency_per_key,
        lease_seconds=lease_seconds,
        new_id=_new_id,
    )


def _new_id() -> str:
    """Return 22 characters that nobody can guess."""
    return secrets.token_urlsafe(16)
