"""Sentences that find their place while their client leaves."""

import asyncio
from typing import cast
from uuid import uuid4

from service.inference.admission import Admission
from service.model_changes import Models
from service.sessions import Sessions
from service.settings import Settings
from service.store.commands import Commands
from service.store.connection import connect
from service.store.context_store import ContextStore
from service.store.document import DocumentKey, Session
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer

DOCUMENT = DocumentKey("tenant", "session")


async def test_client_that_leaves_before_redis_has_answered(mortal_redis: RedisServer) -> None:
    """Redis may have put the sentence into its place by then: it is taken out again."""
    metrics = Metrics()
    async with connect(mortal_redis.url, 5) as client:
        store = ContextStore(Commands(client, metrics), 100)
        await store.create(DOCUMENT, Session("model", "fingerprint", "ja", "en", window=2, ttl_seconds=60))
        admission = Admission(10, lambda: ())
        models = cast(Models, None)  # nothing is translated
        sessions = Sessions(models, admission, store, Settings(), metrics, lambda: uuid4().hex)
        await sessions.place(DOCUMENT, "a", position=None)  # Redis now knows the script
        mortal_redis.pause()
        placing = asyncio.create_task(sessions.place(DOCUMENT, "b", position=None))
        await asyncio.sleep(0.05)  # what it sends is on its way
        placing.cancel()
        await asyncio.sleep(0.05)
        mortal_redis.resume()
        await asyncio.wait([placing])
        assert placing.cancelled()
        await asyncio.sleep(0.1)  # whatever Redis still has to do
        assert (await store.read(DOCUMENT)).next_position == 1
