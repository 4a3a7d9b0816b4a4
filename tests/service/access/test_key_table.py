"""Storage of keys in a real Redis."""

from typing import cast

import pytest
import redis
from redis.asyncio import Redis
from structlog.testing import capture_logs

from service.access.key_table import KeyTable
from service.errors import KeyStorageError, StoreUnavailableError
from service.store.commands import Commands
from service.store.connection import connect
from service.telemetry.metrics import Metrics
from tests.support.commands import until_served
from tests.support.keys import made
from tests.support.lossy_redis import LossyRedis
from tests.support.servers import RedisServer


async def test_keys_come_back_as_they_were_added(table: KeyTable) -> None:
    """Added keys are there, removed ones are gone, and an unchanged table (even an empty one) is not sent again."""
    none = await table.read()
    assert none is not None
    assert none.records == {}
    assert await table.read(none.version) is None
    records = [made(tenant)[1] for tenant in ("acme", "acme", "other")]
    for record in records:
        await table.add(record)
    found = await table.read(none.version)
    assert found is not None
    assert found.records == {record.id: record for record in records}
    assert await table.remove(records[0].id)
    assert not await table.remove(records[0].id)
    left = await table.read(found.version)
    assert left is not None
    assert left.records.keys() == {record.id for record in records[1:]}
    assert await table.read(left.version) is None


async def test_a_table_that_is_lost_is_an_error_to_who_has_read_it(table: KeyTable, mortal_redis: RedisServer) -> None:
    """A Redis that comes back empty is an error, so that nobody is locked out; a table without keys is not "lost"."""
    record = made("acme")[1]
    await table.add(record)
    found = await table.read()
    assert found is not None
    await table.remove(record.id)
    emptied = await table.read(found.version)
    assert emptied is not None
    assert not emptied.records
    with redis.Redis(port=mortal_redis.port) as client:
        client.flushall()
    with pytest.raises(KeyStorageError, match="has lost the keys"):
        await table.read(emptied.version)
    await table.add(record)
    again = await table.read(emptied.version)
    assert again is not None
    assert again.records == {record.id: record}


async def test_version_is_no_key(table: KeyTable) -> None:
    """Revoking a key that does not exist changes nothing, not even the version."""
    await table.add(made("acme")[1])
    before = await table.read()
    assert before is not None
    assert not await table.remove("0" * 16)
    assert await table.read(before.version) is None


async def test_record_that_cannot_be_read_is_left_out(table: KeyTable, mortal_redis: RedisServer) -> None:
    """A record that is damaged or from a later release makes only its own key unknown; the log says so."""
    record = made("acme")[1]
    await table.add(record)
    with redis.Redis(port=mortal_redis.port) as client:
        client.hset("antecedent:keys", "damaged", "himitsu")
    with capture_logs() as logs:
        found = await table.read()
    assert found is not None
    assert list(found.records) == [record.id]
    assert [line["event"] for line in logs] == ["key_record_unreadable"]
    assert "himitsu" not in str(logs)


async def test_redis_that_holds_something_else(table: KeyTable, mortal_redis: RedisServer) -> None:
    """This is not an outage and will not pass, so the error says what is wrong."""
    with redis.Redis(port=mortal_redis.port) as client:
        client.set("antecedent:keys", "a string")
    with pytest.raises(KeyStorageError, match="WRONGTYPE"):
        await table.read()


async def test_redis_that_is_away(table: KeyTable, mortal_commands: Commands, mortal_redis: RedisServer) -> None:
    """Every operation reports that Redis is unavailable; once it is back, the keys are as they were."""
    record = made("acme")[1]
    await table.add(record)
    mortal_redis.kill()
    for operation in (table.read(), table.add(record), table.remove(record.id)):
        with pytest.raises(StoreUnavailableError):
            await operation
    mortal_redis.start()
    await until_served(mortal_commands)
    found = await table.read()
    assert found is not None
    assert found.records == {record.id: record}


async def test_revocation_whose_reply_is_lost_is_one(mortal_redis: RedisServer) -> None:
    """The revocation is sent again, and recognizes its own earlier effect as success."""
    client = connect(mortal_redis.url, 2)
    lossy = LossyRedis(client, "evalsha", "eval")
    sound, record = KeyTable(Commands(client, Metrics())), made("acme")[1]
    await sound.add(record)
    assert await KeyTable(Commands(cast(Redis, lossy), Metrics())).remove(record.id)
    assert lossy.lost
    assert not await sound.remove(record.id)
    await client.aclose()
