"""Tenants' stored glossaries, in a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from string import ascii_uppercase
from typing import cast
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from service.errors import GlossaryNotFoundError, StoreUnavailableError, TooManyGlossariesError
from service.store.commands import Commands
from service.store.connection import RedisClient, connect
from service.store.glossaries import Glossaries, KeptDictionary, KeptGlossary, Terms
from service.telemetry.metrics import Metrics
from tests.support.lossy_redis import LossyRedis
from tests.support.servers import RedisServer

FIRST, SECOND, THIRD = (
    KeptGlossary(name, f"the {name}", f"2026-11-27T0{at}:00:00.000000+00:00", [KeptDictionary("ja", "en", at)])
    for at, name in enumerate(("first", "second", "third"))
)
TERMS = {"ja-en": "terms of the first"}


class LosesLastReply(LossyRedis):
    """A Redis whose reply is lost once it has deleted a glossary."""

    def __init__(self, client: RedisClient) -> None:
        super().__init__(client)
        self._redis = client

    async def hdel(self, name: str, *fields: str) -> int:
        """Delete fields of a hash."""
        found: int = await self._redis.hdel(name, *fields)
        if name.endswith(":glossaries") and not self.lost:
            self.lost = True
            raise RedisConnectionError("lost")
        return found


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    """A client of the shared server; each test has a tenant of its own."""
    async with connect(redis_server.url, 5) as client:
        yield client


@pytest.fixture
def tenant() -> str:
    """A tenant without glossaries."""
    return uuid4().hex


def glossaries(redis: object, most: int = 2) -> Glossaries:
    """The glossaries as one replica sees them."""
    return Glossaries(Commands(cast(Redis, redis), Metrics()), most)


async def test_what_is_kept_is_there_until_it_is_deleted(redis: RedisClient, tenant: str) -> None:
    """Every replica sees a tenant's glossaries, oldest first; other tenants do not."""
    one, other = glossaries(redis), glossaries(redis)
    await one.keep(tenant, SECOND, {"ja-en": "terms of the second"})
    await other.keep(tenant, FIRST, TERMS)
    assert await one.all(tenant) == [FIRST, SECOND]
    assert await other.find(tenant, "second") == (SECOND, {"ja-en": "terms of the second"})
    assert await one.find(tenant, "first") == (FIRST, TERMS)
    assert await one.all(f"{tenant}x") == []
    await other.delete(tenant, "first")
    assert await one.all(tenant) == [SECOND]
    for call in (one.find, one.delete):
        with pytest.raises(GlossaryNotFoundError):
            await call(tenant, "first")


async def test_the_oldest_comes_first(redis: RedisClient, tenant: str) -> None:
    """The order is by creation time, not by name."""
    older = replace(SECOND, created="2026-11-26T00:00:00.000000+00:00")
    for glossary in (FIRST, older):
        await glossaries(redis).keep(tenant, glossary, {})
    assert await glossaries(redis).all(tenant) == [older, FIRST]


async def test_there_is_room_for_so_many(redis: RedisClient, tenant: str) -> None:
    """The limit holds whichever replica is asked."""
    for glossary in (FIRST, SECOND):
        await glossaries(redis).keep(tenant, glossary, TERMS)
    with pytest.raises(TooManyGlossariesError, match="2 glossaries"):
        await glossaries(redis).keep(tenant, THIRD, TERMS)
    assert await glossaries(redis).all(tenant) == [FIRST, SECOND]


async def test_a_call_whose_reply_is_lost_is_repeated(redis: RedisClient, tenant: str) -> None:
    """The repetition has no further effect, even if the glossary took the last free place."""
    lossy = LossyRedis(redis, "evalsha", "eval")
    await glossaries(lossy, 1).keep(tenant, FIRST, TERMS)
    assert lossy.lost
    assert await glossaries(redis).all(tenant) == [FIRST]
    forgetful = LosesLastReply(redis)
    await glossaries(forgetful).delete(tenant, "first")
    assert forgetful.lost
    assert await glossaries(redis).all(tenant) == []


def _longer(glossary: KeptGlossary, terms: Terms, letter: str = "!") -> tuple[KeptGlossary, Terms]:
    """Append a letter to a glossary's name and terms."""
    return replace(glossary, name=f"{glossary.name}{letter}"), {"ja-en": f"{terms['ja-en']}{letter}"}


async def test_changes_at_the_same_time_are_all_made(redis: RedisClient, tenant: str) -> None:
    """Concurrent changes by any replicas build on each other, and none is lost."""
    await glossaries(redis).keep(tenant, FIRST, TERMS)
    changes = [partial(_longer, letter=letter) for letter in ascii_uppercase]
    await asyncio.gather(*(glossaries(redis).change(tenant, "first", change) for change in changes))
    found, terms = await glossaries(redis).find(tenant, "first")
    letters = found.name.removeprefix("the first")
    assert sorted(letters) == list(ascii_uppercase)
    assert terms == {"ja-en": f"terms of the first{letters}"}
    with pytest.raises(GlossaryNotFoundError):
        await glossaries(redis).change(tenant, "second", _longer)


async def test_a_change_whose_reply_is_lost_is_made_once(redis: RedisClient, tenant: str) -> None:
    """The repetition finds that the change has been made."""
    await glossaries(redis).keep(tenant, FIRST, TERMS)
    lossy = LossyRedis(redis, "evalsha", "eval")
    assert (await glossaries(lossy).change(tenant, "first", _longer)).name == "the first!"
    assert lossy.lost
    assert (await glossaries(redis).find(tenant, "first"))[1] == {"ja-en": "terms of the first!"}


async def test_one_that_was_kept_before_there_were_several_languages_is_read(redis: RedisClient, tenant: str) -> None:
    """A glossary in the format of earlier releases can be read, and then changed like any other."""
    named = f"antecedent:{{{tenant}}}"
    known = '{"id":"old","name":"the old","source_lang":"ja","target_lang":"en","created":"2026-11-27","terms":1}'
    await redis.hset(f"{named}:glossaries", "old", known)
    await redis.hset(f"{named}:terms", "old", '[["a","b"]]')
    old = KeptGlossary("old", "the old", "2026-11-27", [KeptDictionary("ja", "en", 1)])
    assert await glossaries(redis).all(tenant) == [old]
    assert await glossaries(redis).find(tenant, "old") == (old, {"ja-en": '[["a","b"]]'})
    assert (await glossaries(redis).change(tenant, "old", _longer)).name == "the old!"
    assert (await glossaries(redis).find(tenant, "old"))[1] == {"ja-en": '[["a","b"]]!'}


async def test_an_outage_is_told(tenant: str) -> None:
    """An unreachable Redis is reported as for all other data there."""
    async with connect("redis://127.0.0.1:1", 0.1) as nobody:
        for call in (glossaries(nobody).all(tenant), glossaries(nobody).find(tenant, "first")):
            with pytest.raises(StoreUnavailableError):
                await call
