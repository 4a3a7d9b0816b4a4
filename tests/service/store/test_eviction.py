"""An operator is told of a Redis that may drop sessions."""

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from service.settings import Settings
from service.store.opening import open_redis
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer


@pytest.mark.parametrize("policy", ["noeviction", "volatile-lru"])
async def test_policy_that_evicts_is_warned_of(policy: str, mortal_redis: RedisServer) -> None:
    """One line when the service starts; none for a Redis that refuses what it has no room for."""
    async with Redis.from_url(mortal_redis.url) as client:
        await client.config_set("maxmemory-policy", policy)
    with capture_logs() as lines:
        async with open_redis(Settings(redis_url=mortal_redis.url), Metrics()):
            pass
    told = [line["policy"] for line in lines if line["event"] == "redis_may_evict"]
    assert told == [each for each in [policy] if each != "noeviction"]


async def test_redis_that_is_away_is_not_waited_for(mortal_redis: RedisServer) -> None:
    """The service starts without it; the log says where it was looked for, and not with which password."""
    mortal_redis.kill()
    url = mortal_redis.url.replace("//", "//:himitsu@")
    with capture_logs() as lines:
        async with open_redis(Settings(redis_url=url), Metrics()):
            pass
    (told,) = [line for line in lines if line["event"] == "redis_not_reached"]
    assert told["place"] == f"127.0.0.1:{mortal_redis.port}"
    assert "himitsu" not in str(lines)
