"""Limits in a real Redis: the same rules as in one process, for all replicas together."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from service.access.local_limits import LocalLimits
from service.access.quota import Demand, Verdict
from service.access.shared_limits import SharedLimits
from service.store.commands import Commands
from service.store.connection import connect
from service.telemetry.metrics import Metrics
from tests.support.redis_servers import RedisCluster
from tests.support.servers import RedisServer

LEASE_SECONDS = 60


@pytest.fixture
async def commands(redis_server: RedisServer) -> AsyncIterator[Commands]:
    """Commands on the Redis that all tests share."""
    client = connect(redis_server.url, 5)
    commands = Commands(client, Metrics())
    yield commands
    await commands.aclose()
    await client.aclose()


@pytest.fixture
def replicas(commands: Commands) -> tuple[SharedLimits, SharedLimits]:
    """Limits as two replicas see them."""
    return SharedLimits(commands, LEASE_SECONDS), SharedLimits(commands, LEASE_SECONDS)


@pytest.fixture
def key_id() -> str:
    """A key that no other test uses."""
    return uuid4().hex


def _names(key_id: str) -> tuple[str, str]:
    return f"antecedent:{{limits:{key_id}}}:spent", f"antecedent:{{limits:{key_id}}}:places"


def _spent_before(server: RedisServer, key_id: str, history: list[tuple[int, int]]) -> None:
    """Record, as the script does, how many sentences a key has spent how many seconds ago, oldest first."""
    with redis.Redis(port=server.port, decode_responses=True) as client:
        seconds, microseconds = client.time()
        now, total = 1000 * seconds + microseconds // 1000, 0
        for age, sentences in history:
            total += sentences
            client.rpush(_names(key_id)[0], f"{now - 1000 * age} {sentences} {total}")


async def test_replicas_share_one_minute(replicas: tuple[SharedLimits, SharedLimits], key_id: str) -> None:
    """Sentences spent at one replica count at the other, down to the last one."""
    one, other = replicas
    outcomes = [await limits.admit(key_id, Demand(2, 5)) for limits in (one, other, one)]
    assert [(verdict.outcome, verdict.remaining) for verdict in outcomes] == [
        ("admitted", 3),
        ("admitted", 1),
        ("rate", 1),
    ]
    assert 50 < outcomes[2].seconds <= 60
    assert (await other.admit(key_id, Demand(1, 5))).remaining == 0


async def test_a_lowered_rate_keeps_nobody_from_a_place(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str
) -> None:
    """A key that has already spent more than its new rate may still open a stream, which asks for no sentences yet."""
    one, other = replicas
    await one.admit(key_id, Demand(5, 5))
    verdict = await other.admit(key_id, Demand(per_minute=2, token="stream", places=1))
    assert (verdict.outcome, verdict.remaining) == ("admitted", 0)


async def test_of_many_at_once_exactly_the_limit_passes(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str
) -> None:
    """A hundred simultaneous requests at two replicas get exactly seven sentences and three places between them."""
    asked = [replicas[at % 2].admit(key_id, Demand(1, 7)) for at in range(100)]
    assert sum(verdict.outcome == "admitted" for verdict in await asyncio.gather(*asked)) == 7
    asked = [replicas[at % 2].admit(key_id, Demand(token=f"{at}", places=3)) for at in range(100)]
    assert sum(verdict.outcome == "admitted" for verdict in await asyncio.gather(*asked)) == 3


async def test_keys_do_not_share(replicas: tuple[SharedLimits, SharedLimits], key_id: str) -> None:
    """A key that has used up everything takes nothing from another."""
    limits = replicas[0]
    assert (await limits.admit(key_id, Demand(5, 5, "a", 1))).outcome == "admitted"
    assert (await limits.admit(f"{key_id}2", Demand(5, 5, "a", 1))).outcome == "admitted"


async def test_place_that_is_given_back_is_free_at_the_other_replica(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str
) -> None:
    """Places are shared by all replicas."""
    one, other = replicas
    assert (await one.admit(key_id, Demand(token="a", places=1))).outcome == "admitted"
    assert (await other.admit(key_id, Demand(token="b", places=1))).outcome == "places"
    await one.release(key_id, "a")
    assert (await other.admit(key_id, Demand(token="c", places=1))).outcome == "admitted"


async def test_place_comes_back_when_its_lease_ends(commands: Commands, key_id: str) -> None:
    """A place that is neither renewed nor given back becomes free after a while."""
    limits = SharedLimits(commands, 0.1)
    assert (await limits.admit(key_id, Demand(token="a", places=1))).outcome == "admitted"
    async with asyncio.timeout(60):
        while (await limits.admit(key_id, Demand(token="b", places=1))).outcome != "admitted":
            await asyncio.sleep(0.02)


async def test_place_of_a_replica_that_has_died_is_free_while_others_hold_theirs(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str, redis_server: RedisServer
) -> None:
    """Others' renewals keep the entry in Redis alive, but not the places in it whose leases have ended."""
    one, other = replicas
    assert (await one.admit(key_id, Demand(token="a", places=2))).outcome == "admitted"
    with redis.Redis(port=redis_server.port) as client:
        client.zadd(_names(key_id)[1], {"dead": 1000 * (client.time()[0] - 1)})
    assert (await other.admit(key_id, Demand(token="b", places=2))).outcome == "admitted"


async def test_place_that_is_renewed_is_held_for_another_lease(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str, redis_server: RedisServer
) -> None:
    """Renewal extends the entry in Redis to another lease, but no longer."""
    await replicas[0].admit(key_id, Demand(token="a", places=1))
    places = _names(key_id)[1]
    with redis.Redis(port=redis_server.port) as client:
        client.pexpire(places, 5_000)  # the first lease is nearly over
        await replicas[0].renew(key_id, "a")
        assert 5_000 < client.pttl(places) <= 1000 * LEASE_SECONDS


async def test_place_is_renewed_in_a_redis_that_is_full(mortal_redis: RedisServer, key_id: str) -> None:
    """Places can be taken there, so they must be renewable too: else a long stream would lose its place to another."""
    async with connect(mortal_redis.url, 60) as client:
        commands = Commands(client, Metrics())
        limits = SharedLimits(commands, LEASE_SECONDS)
        with redis.Redis(port=mortal_redis.port) as admin:
            admin.config_set("maxmemory", 1)
            assert (await limits.admit(key_id, Demand(token="a", places=1))).outcome == "admitted"
            admin.pexpire(_names(key_id)[1], 1000)
            await limits.renew(key_id, "a")
            assert admin.pttl(_names(key_id)[1]) > 1000
        await commands.aclose()


async def test_clock_that_has_gone_back_leaves_nobody_out(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str, redis_server: RedisServer
) -> None:
    """After a failover to a Redis whose clock is an hour behind, the old one's records do not count for an hour."""
    _spent_before(redis_server, key_id, [(-3600, 5)])
    with redis.Redis(port=redis_server.port) as client:
        client.zadd(_names(key_id)[1], {"dead": 1000 * (client.time()[0] + 3600)})
    assert (await replicas[0].admit(key_id, Demand(1, 5, "a", 1))).outcome == "admitted"


async def test_request_whose_reply_was_lost_is_admitted_once(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str
) -> None:
    """Repeating the demand finds that it already holds its place, and spends nothing more."""
    demand = Demand(2, 5, "a", 1)
    verdicts = [await replicas[0].admit(key_id, demand) for _ in range(2)]
    assert [(verdict.outcome, verdict.remaining) for verdict in verdicts] == [("admitted", 3), ("admitted", 3)]


async def test_nothing_of_a_key_stays(
    replicas: tuple[SharedLimits, SharedLimits], key_id: str, redis_server: RedisServer
) -> None:
    """Both entries in Redis expire by themselves, at the latest a minute or a lease after the last request."""
    await replicas[0].admit(key_id, Demand(1, 5, "a", 1))
    with redis.Redis(port=redis_server.port) as client:
        assert all(0 < client.pttl(name) <= 60_000 for name in _names(key_id))


async def test_limits_in_a_cluster(tmp_path: Path) -> None:
    """All entries of a key are in the same slot, so that the script works in a Cluster."""
    cluster = RedisCluster(tmp_path)
    cluster.start()
    try:
        async with connect(cluster.url, 5) as client:
            commands = Commands(client, Metrics())
            limits = SharedLimits(commands, LEASE_SECONDS)
            for key_id in "abcdefgh":
                verdicts = [await limits.admit(key_id, Demand(1, 5, token, 1)) for token in "pq"]
                assert [verdict.outcome for verdict in verdicts] == ["admitted", "places"]
                await limits.renew(key_id, "p")
                await limits.release(key_id, "p")
            await commands.aclose()
    finally:
        cluster.close()


AGES = st.sampled_from(range(5, 106, 10))
"""In seconds; far enough from the edge of the window that no pause of a slow machine matters."""


@settings(max_examples=60)
@given(
    history=st.lists(st.tuples(AGES, st.integers(1, 9)), max_size=12),
    limit=st.integers(1, 40),
    sentences=st.integers(1, 40),
)
def test_a_process_and_redis_judge_alike(
    redis_server: RedisServer, history: list[tuple[int, int]], limit: int, sentences: int
) -> None:
    """After any history, the limits of one process and those in Redis give the same verdict."""
    history = sorted(history, reverse=True)
    demand = Demand(min(sentences, limit), limit)
    key_id = uuid4().hex
    _spent_before(redis_server, key_id, history)
    ours, theirs = asyncio.run(_judge(redis_server, key_id, history, demand))
    assert (theirs.outcome, theirs.remaining) == (ours.outcome, ours.remaining)
    assert ours.seconds - 5 < theirs.seconds <= ours.seconds


async def _judge(
    server: RedisServer, key_id: str, history: list[tuple[int, int]], demand: Demand
) -> tuple[Verdict, Verdict]:
    """The verdicts of a process and of Redis."""
    now = 0.0
    local = LocalLimits(lambda: now)
    for age, spent in history:
        now = -float(age)
        await local.admit(key_id, Demand(spent, 1000))
    now = 0.0
    async with connect(server.url, 5) as client:
        commands = Commands(client, Metrics())
        shared = await SharedLimits(commands, LEASE_SECONDS).admit(key_id, demand)
        await commands.aclose()
    return await local.admit(key_id, demand), shared
