"""Whether a Redis may throw away what it has been given: a look when the service starts."""

import asyncio
from typing import Final

from redis.exceptions import RedisError

from service.store.cancellation import obeyed
from service.store.connection import RedisClient
from service.store.failures import code_of, is_silence
from service.telemetry.logs import get_logger

_SECONDS: Final = 1.0
"""For the look: a Redis that is away then may do as it likes."""
_KEEPS: Final = "noeviction"

_log = get_logger(__name__)


async def warn_of_eviction(redis: RedisClient, place: str) -> None:
    """Log a warning if a Redis without memory drops keys rather than refuse new ones: sessions would be lost.

    Another one if it does not answer: `place` may be wrong, and nobody would know before the first session.
    """
    try:
        with obeyed():
            async with asyncio.timeout(_SECONDS):
                memory = await redis.info("memory")
    except Exception as error:
        if not (isinstance(error, RedisError | TimeoutError) or is_silence(error)):
            raise
        _log.warning("redis_not_reached", place=place, reason=code_of(error))
    else:
        of_nodes = memory.values() if isinstance(next(iter(memory.values()), None), dict) else [memory]
        policies = {str(node.get("maxmemory_policy", _KEEPS)) for node in of_nodes}
        if policies != {_KEEPS}:
            _log.warning("redis_may_evict", policy=", ".join(sorted(policies - {_KEEPS})), should_be=_KEEPS)
