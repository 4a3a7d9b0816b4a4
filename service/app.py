"""The application: which parts there are, and in which order they start and end. Wiring only."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import Tracer

from models.bundle.manifest import Manifest
from service.access.factory import configured_access
from service.access.keyring import Access
from service.access.limiter import Limiter
from service.access.local_limits import LocalLimits
from service.access.shared_limits import SharedLimits
from service.documents import Documents
from service.http import api_page, guards, handlers
from service.http.openapi import DescribedAPI
from service.inference.admission import Admission
from service.inference.backlog import Budget
from service.inference.batcher import Batcher
from service.inference.catalogue import Catalogue, Model, check_servable
from service.inference.pool import WorkerPool
from service.inference.worker import Worker, WorkerCommand
from service.inference.worker_process import TRANSLATOR
from service.routes import documents, health, sessions, streams
from service.routes.dependencies import Services
from service.sessions import Sessions
from service.settings import Settings
from service.store.commands import Commands
from service.store.context_store import ContextStore
from service.store.opening import open_redis
from service.streams.open_streams import OpenStreams
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER

_NO_NATIVE_TELEMETRY: Final[TelemetryConfig] = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI's own spans hold the path, so the ids of sessions, and its records the messages of exceptions."""


def create_app(settings: Settings, *, translator: str = TRANSLATOR, tracer: Tracer = NO_TRACER) -> FastAPI:
    """The application; everything that it needs starts and ends with its lifespan.

    `translator` is the function, as `module:name`, that loads a bundle in a worker.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(settings, metrics, tracer, translator) as services:
            app.state.services = services
            yield

    app = DescribedAPI(
        title="Antecedent",
        summary="Documents translated sentence by sentence, each with the sentences before it",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        telemetry=_NO_NATIVE_TELEMETRY,
    )
    guards.install(app, settings, metrics, tracer, _new_id)
    handlers.install(app, metrics)
    api_page.install(app)
    for router in (documents.router, sessions.router, streams.router, health.router):
        app.include_router(router)
    return app


@asynccontextmanager
async def running(settings: Settings, metrics: Metrics, tracer: Tracer, translator: str) -> AsyncIterator[Services]:
    """Start Redis, where it is the service's own, and the workers; end them afterwards.

    Raises:
        BundleError, StartupError, WorkerDiedError: one of them cannot be started.
        KeyStorageError: there should be keys, and there are none to be read.
    """
    manifests = [Manifest.load(folder) for folder in settings.bundles]
    check_servable(manifests)
    async with AsyncExitStack() as stack:
        commands = await stack.enter_async_context(open_redis(settings, metrics, tracer))
        models = [
            _model(manifest, settings, metrics, tracer, translator, index) for index, manifest in enumerate(manifests)
        ]
        for model in models:
            stack.push_async_callback(model.pool.close)
        await asyncio.gather(*(model.pool.open() for model in models))
        for model in models:
            model.batcher.open()
            stack.push_async_callback(model.batcher.close)
        access = await stack.enter_async_context(configured_access(settings, commands, metrics))
        yield _services(models, access, commands, settings, metrics, tracer)


def _model(
    manifest: Manifest, settings: Settings, metrics: Metrics, tracer: Tracer, translator: str, index: int
) -> Model:
    command = WorkerCommand(
        bundle=settings.bundles[index],
        fingerprint=manifest.fingerprint,
        device=settings.device,
        compute_type=settings.compute_type,
        timeout=settings.worker_timeout_seconds,
        translator=translator,
        otlp_endpoint=settings.otlp_endpoint,
    )
    pool = WorkerPool(partial(Worker.start, command), settings.workers, metrics)
    budget = Budget(settings.batch_characters, settings.batch_sentences, settings.batch_wait_ms / 1000)
    batcher = Batcher(pool, budget, deadline=settings.deadline_seconds, metrics=metrics, tracer=tracer)
    return Model(manifest, pool, batcher, str(command.bundle))


def _services(
    models: list[Model], access: Access, redis: Commands, settings: Settings, metrics: Metrics, tracer: Tracer
) -> Services:
    catalogue = Catalogue(models)
    admission = Admission(settings.queue_limit, lambda: [model.batcher for model in models])
    metrics.waiting.set_function(lambda: admission.waiting)
    metrics.watch_workers(catalogue.workers)
    store = ContextStore(redis, settings.max_session_sentences)
    return Services(
        access=access,
        catalogue=catalogue,
        admission=admission,
        redis=redis,
        documents=Documents(catalogue, admission, settings, _new_id),
        sessions=Sessions(catalogue, admission, store, settings, _new_id),
        limiter=_limiter(redis, settings),
        streams=OpenStreams(settings.stream_limit, settings.stream_in_flight, settings.stream_idle_seconds, metrics),
        metrics=metrics,
        tracer=tracer,
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
    """22 characters that nobody can guess."""
    return secrets.token_urlsafe(16)
