"""A Redis Cluster being created, repaired or enlarged: whatever it cannot serve is an outage until it can."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from redis import Redis

from service.errors import StoreUnavailableError
from service.settings import Settings
from service.store.commands import Commands
from service.store.connection import connect
from service.store.nodes import Policy
from service.store.opening import open_redis
from service.telemetry.metrics import Metrics
from tests.support.redis_servers import RedisCluster

HELD, LOST = "{held}", "{other}"
"""Keys whose slots belong to the first and the second of two masters."""
PATIENT = Policy(total_seconds=60, probe_seconds=0.02)
"""Probes often whether Redis is back, and allows it plenty of time."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RedisCluster]:
    """A Cluster of one master, not yet started."""
    cluster = RedisCluster(tmp_path, size=1)
    try:
        yield cluster
    finally:
        cluster.close()


@asynccontextmanager
async def running(cluster: RedisCluster, metrics: Metrics | None = None) -> AsyncIterator[Commands]:
    """Commands on a Cluster."""
    async with (
        aclosing(connect(cluster.url, 60)) as client,
        aclosing(Commands(client, metrics or Metrics(), policy=PATIENT)) as commands,
    ):
        yield commands


async def served(commands: Commands, key: str = HELD) -> bool:
    """Whether a key can be read; any error other than an outage is raised."""
    try:
        await commands.run("read", lambda redis: redis.hgetall(key), key=key)
    except StoreUnavailableError:
        return False
    return True


async def until_served(commands: Commands, key: str = HELD) -> None:
    """Wait until a key can be read."""
    while not await served(commands, key):
        await asyncio.sleep(0.02)


async def test_service_starts_beside_a_cluster_that_is_not_made_yet(cluster: RedisCluster) -> None:
    """Masters without slots are an outage, which ends when they get some."""
    cluster.masters[0].start()
    async with open_redis(Settings(redis_url=cluster.url), Metrics()) as commands:
        assert not await served(commands)
        cluster.share_out()
        await until_served(commands)


async def test_slot_without_a_master(cluster: RedisCluster) -> None:
    """A slot without a master is not served until it has one again; other slots are."""
    cluster.start()
    async with running(cluster) as commands:
        assert await served(commands, LOST)
        with Redis(port=cluster.masters[0].port) as admin:
            slot = admin.cluster("KEYSLOT", LOST)
            admin.cluster("DELSLOTS", slot)
            for _ in range(3):
                assert not await served(commands, LOST)
                assert await served(commands, HELD)
            admin.cluster("ADDSLOTS", slot)
        await until_served(commands, LOST)


async def test_master_that_cannot_serve_cuts_off_no_other(tmp_path: Path) -> None:
    """A call that is waiting for another master's reply still gets it, without being repeated."""
    cluster, metrics = RedisCluster(tmp_path, size=2), Metrics()
    try:
        cluster.start()
        async with running(cluster, metrics) as commands:
            assert await served(commands, LOST)
            waiting = asyncio.create_task(commands.run("wait", lambda redis: redis.blpop([HELD], 0), key=HELD))
            with Redis(port=cluster.masters[0].port) as holding, Redis(port=cluster.masters[1].port) as losing:
                while not holding.info("clients")["blocked_clients"]:
                    await asyncio.sleep(0.02)
                losing.cluster("DELSLOTS", losing.cluster("KEYSLOT", LOST))
                assert not await served(commands, LOST)
                holding.rpush(HELD, "value")
            assert tuple(await waiting) == (HELD, "value")
    finally:
        cluster.close()
    assert b'redis_failures_total{operation="wait"}' not in metrics.render()


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 13, 8), reason="asyncio has python/cpython#136234; the service runs on uvloop"
)
async def test_connections_that_a_failed_call_closes(cluster: RedisCluster) -> None:
    """A call that has just taken such a connection is repeated, however the client library reports the loss."""
    cluster.start()
    async with aclosing(connect(cluster.url, 60)) as client:
        commands = Commands(client, Metrics(), policy=PATIENT)
        assert await served(commands)
        node = client.get_node_from_key(HELD)
        for steps in range(12):
            closing = asyncio.create_task(node.disconnect_free_connections())
            for _ in range(steps):
                await asyncio.sleep(0)
            assert await served(commands)
            await closing
        await commands.aclose()


async def test_slot_on_its_way_to_a_new_master(cluster: RedisCluster) -> None:
    """Keys that have already moved are read from the new master, although it is unknown and owns no slot yet."""
    cluster.start()
    async with running(cluster) as commands:
        await commands.run("write", lambda redis: redis.hset(HELD, "name", "value"), key=HELD)
        cluster.grow()
        with cluster.moving(HELD) as move_keys:
            move_keys()
            found = await commands.run("read", lambda redis: redis.hgetall(HELD), key=HELD)
        assert found == {"name": "value"}
        await until_served(commands)
