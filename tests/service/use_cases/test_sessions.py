"""Sentences whose client leaves, while they are being placed and while they are being translated."""

import asyncio
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from models.bundle.manifest import Manifest
from service.inference.admission import Admission
from service.inference.batcher import Batcher
from service.inference.catalogue import Model
from service.inference.pool import WorkerPool
from service.inference.wire import Batch, Outcomes
from service.inference.worker import Worker
from service.settings import Settings
from service.store.commands import Commands
from service.store.connection import RedisClient, connect
from service.store.context_store import ContextStore
from service.store.document import DocumentKey, Session
from service.telemetry.metrics import Metrics
from service.use_cases.model_changes import Models
from service.use_cases.sessions import Sessions
from tests.support.lanes import Bench, until
from tests.support.servers import RedisServer


class HeldRedis:
    """A client of a Redis that executes commands at once, but whose replies are held back from `hold` to `let_go`."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._open = asyncio.Event()
        self._open.set()
        self.done = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def hold(self) -> None:
        """Hold back replies from now on; `done` is set once Redis has executed the first command."""
        self._open.clear()
        self.done.clear()

    def let_go(self) -> None:
        """Release the replies that were held back."""
        self._open.set()

    async def evalsha(self, *args: Any) -> Any:
        """Run a script that Redis has already loaded."""
        reply = await self._client.evalsha(*args)
        self.done.set()
        await self._open.wait()
        return reply


async def test_client_that_leaves_before_redis_has_answered(redis_server: RedisServer) -> None:
    """By then Redis has placed the sentence, which must be taken out again."""
    metrics = Metrics()
    async with connect(redis_server.url, 5) as client:
        held = HeldRedis(client)
        store = ContextStore(Commands(cast(RedisClient, held), metrics), 100)
        document = DocumentKey("tenant", uuid4().hex)
        await store.create(document, Session("model", "fingerprint", "ja", "en", window=2, ttl_seconds=60))
        admission = Admission(10, lambda: ())
        models = cast(Models, None)  # nothing is translated
        sessions = Sessions(models, admission, store, Settings(), metrics, lambda: uuid4().hex)
        await sessions.place(document, "a", position=None)  # Redis now knows the script
        held.hold()
        placing = asyncio.create_task(sessions.place(document, "b", position=None))
        await held.done.wait()
        placing.cancel()
        held.let_go()
        await asyncio.wait([placing])
        assert placing.cancelled()
        assert (await store.read(document)).next_position == 1


class OneModel:
    """Gives every session the same model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def for_session(self, _name: str, _fingerprint: str) -> Model:
        """That model."""
        return self._model


async def _never(_batch: Batch) -> Outcomes:
    await asyncio.Event().wait()
    raise AssertionError


async def test_client_that_leaves_keeps_no_worker_busy(redis_server: RedisServer, stand_in_bundle: Path) -> None:
    """Once nobody waits, the translation is dropped, and the sentence is taken out of the session again."""
    bench, metrics, manifest = Bench(_never), Metrics(), Manifest.load(stand_in_bundle)
    bench.batcher.open()
    model = Model(manifest, cast(WorkerPool, None), cast("Batcher[Worker]", bench.batcher), manifest.name)
    async with connect(redis_server.url, 5) as client:
        store = ContextStore(Commands(client, metrics), 100)
        document = DocumentKey("tenant", uuid4().hex)
        await store.create(document, Session("model", "fingerprint", "ja", "en", window=2, ttl_seconds=60))
        models = cast(Models, OneModel(model))
        sessions = Sessions(models, Admission(10, lambda: ()), store, Settings(), metrics, lambda: uuid4().hex)
        answering = asyncio.create_task(sessions.answer(await sessions.place(document, "一", position=None)))
        await until(lambda: bool(bench.lanes.batches))
        answering.cancel()
        await asyncio.wait([answering])
        assert bench.lanes.dropped == [0]
        assert (await store.read(document)).next_position == 0
    await bench.batcher.close()
