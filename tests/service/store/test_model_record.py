"""The record of what all replicas are to serve, in a real Redis."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import count

import pytest
from redis.asyncio import Redis

from service.errors import ModelRecordError
from service.store.commands import Commands
from service.store.connection import connect
from service.store.model_record import KEY, ModelRecords, WantedModel
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer

OLD, NEW = (WantedModel("ja-en", folder, folder * 8) for folder in ("old", "new"))


@dataclass(frozen=True)
class Shared:
    """A database without a record, shared by replicas."""

    redis: Redis
    new_id: Callable[[], str]

    def records(self) -> ModelRecords:
        """The record as one replica sees it."""
        return ModelRecords(Commands(self.redis, Metrics()), self.new_id)


@pytest.fixture
async def shared(redis_server: RedisServer) -> AsyncIterator[Shared]:
    """A database that no other test uses."""
    redis = connect(f"{redis_server.url}/1", 5)
    assert isinstance(redis, Redis)
    await redis.flushdb()
    ids = count()
    yield Shared(redis, lambda: f"version-{next(ids)}")
    await redis.aclose()


async def test_record_is_what_was_written_last(shared: Shared) -> None:
    """At first there is none; then every replica reads what any of them has written."""
    one, other = shared.records(), shared.records()
    assert await one.read() is None
    assert await one.replace(None, [OLD])
    read = await other.read()
    assert read is not None
    assert read.models == (OLD,)
    assert await other.replace(read, [NEW, OLD])
    last = await one.read()
    assert last is not None
    assert last.models == (NEW, OLD)


async def test_change_of_what_has_changed_meanwhile_is_refused(shared: Shared) -> None:
    """If two replicas change the same record at once, one succeeds and the other is told."""
    one, other = shared.records(), shared.records()
    assert await one.replace(None, [OLD])
    assert not await other.replace(None, [NEW])
    read = await one.read()
    assert await one.replace(read, [NEW])
    assert not await other.replace(read, [OLD])
    last = await one.read()
    assert last is not None
    assert last.models == (NEW,)


async def test_repeated_write_is_no_conflict(shared: Shared) -> None:
    """A write may be sent again after a lost reply."""
    records = ModelRecords(Commands(shared.redis, Metrics()), lambda: "same")
    assert await records.replace(None, [OLD])
    assert await records.replace(None, [OLD])


@pytest.mark.parametrize(
    "models", ["", "{}", '[{"name": "ja-en"}]', '[{"name": 1, "bundle": "b", "fingerprint": "f"}]']
)
async def test_record_of_another_form_is_reported(shared: Shared, models: str) -> None:
    """A record that no release has written is not interpreted; the error says what to do."""
    await shared.redis.hset(KEY, mapping={"version": "1", "models": models})
    with pytest.raises(ModelRecordError, match=f"{KEY} in Redis cannot be read: delete it"):
        await shared.records().read()


async def test_key_of_another_type_is_reported(shared: Shared) -> None:
    """Somebody may, for example, have set the key to a string."""
    await shared.redis.set(KEY, "two")
    with pytest.raises(ModelRecordError):
        await shared.records().read()
