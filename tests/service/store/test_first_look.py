"""Operators are told if Redis may drop sessions, or is not what the URL says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from service.errors import SettingsError
from service.settings import Settings
from service.store.opening import open_redis
from service.telemetry.metrics import Metrics
from tests.support.redis_servers import RedisSentinel
from tests.support.servers import RedisServer


@contextmanager
def started(folder: Path, *options: str) -> Iterator[str]:
    """Start a Redis with options; yields its host and port."""
    server = RedisServer(folder, *options)
    try:
        server.start()
        yield urlsplit(server.url).netloc
    finally:
        server.kill()


async def refusal(url: str) -> str:
    """The error with which a start with that URL is refused."""
    with pytest.raises(SettingsError) as raised:
        async with open_redis(Settings(redis_url=url), Metrics()):
            pass
    return str(raised.value)


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
async def test_policy_that_evicts_is_warned_of(policy: str, mortal_redis: RedisServer) -> None:
    """There is one line at the start; none for a Redis that refuses writes for lack of room."""
    async with Redis.from_url(mortal_redis.url) as client:
        await client.config_set("maxmemory-policy", policy)
    with capture_logs() as lines:
        async with open_redis(Settings(redis_url=mortal_redis.url), Metrics()):
            pass
    told = [line["policy"] for line in lines if line["event"] == "redis_may_evict"]
    assert told == [each for each in [policy] if each != "noeviction"]


async def test_redis_that_is_away_is_not_waited_for(mortal_redis: RedisServer) -> None:
    """The service starts without it; the log gives the address but not the password."""
    mortal_redis.kill()
    url = mortal_redis.url.replace("//", "//:himitsu@")
    with capture_logs() as lines:
        async with open_redis(Settings(redis_url=url), Metrics()):
            pass
    (told,) = [line for line in lines if line["event"] == "redis_not_reached"]
    assert told["place"] == f"127.0.0.1:{mortal_redis.port}"
    assert "himitsu" not in str(lines)


async def test_node_of_a_cluster_is_named(tmp_path: Path) -> None:
    """Whatever a URL takes a Cluster's node for, the error says how the URL must begin."""
    with started(tmp_path, "--cluster-enabled", "yes") as place:
        said = (
            f"ANTECEDENT_REDIS_URL: {place} is a node of a Cluster, so the URL must begin with redis+cluster://;"
            " see docs/configuration.md"
        )
        assert await refusal(f"redis://{place}") == said
        assert await refusal(f"redis+sentinel://{place}/master") == said


async def test_redis_of_its_own_is_named(redis_server: RedisServer) -> None:
    """An ordinary Redis is recognized if the URL takes it for a sentinel or a Cluster's node."""
    place = urlsplit(redis_server.url).netloc
    for url in (f"redis+sentinel://{place}/master", f"redis+cluster://{place}"):
        said = await refusal(url)
        assert f"{place} is neither a sentinel nor a node of a Cluster, so the URL must begin with redis://;" in said


async def test_sentinel_is_named(tmp_path: Path) -> None:
    """A sentinel is recognized if the URL takes it for a Redis or a Cluster's node; with the right URL all is well."""
    watched = RedisSentinel(tmp_path)
    try:
        watched.start()
        place = urlsplit(watched.url).netloc
        for url in (f"redis://{place}", f"redis+cluster://{place}"):
            assert f"{place} is a sentinel, so the URL must begin with redis+sentinel://;" in await refusal(url)
        async with open_redis(Settings(redis_url=watched.url), Metrics()) as commands:
            await commands.try_to_write()
    finally:
        watched.close()


async def test_redis_that_runs_no_scripts(tmp_path: Path) -> None:
    """An operator has disabled EVAL, without which sessions are impossible."""
    with started(tmp_path, "--rename-command", "EVAL", "", "--rename-command", "EVALSHA", "") as place:
        assert await refusal(f"redis://{place}") == f"ANTECEDENT_REDIS_URL: {place} runs no scripts (EVAL)"


async def test_redis_that_says_nothing_of_itself_is_used(tmp_path: Path) -> None:
    """Without INFO nothing can be found wrong, so the service starts."""
    with started(tmp_path, "--rename-command", "INFO", "") as place:
        async with open_redis(Settings(redis_url=f"redis://{place}"), Metrics()) as commands:
            await commands.try_to_write()
