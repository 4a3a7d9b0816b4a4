"""The connection to Redis, from a URL."""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff


def connect(url: str, timeout: float) -> Redis:
    """A client for a URL of redis-py (`redis://`, `rediss://`, `unix://`); connects when first used.

    It never repeats a command by itself: an `append` whose reply is lost may have been carried out.
    """
    client: Redis = Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        retry=Retry(NoBackoff(), 0),
    )
    return client
