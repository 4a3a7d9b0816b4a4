"""Checks at startup that Redis is of the kind that its URL says, and does not drop what it is given."""

import asyncio
from typing import Any, Final

from redis.exceptions import RedisError, ResponseError

from service.errors import SettingsError
from service.store.address import Address, Kind
from service.store.cancellation import propagating_cancellation
from service.store.connection import RedisClient, info_of_any
from service.store.failures import code_of, is_of_another_kind, is_silence
from service.telemetry.logs import get_logger

_SECONDS: Final = 1.0
"""Limit for the check; a Redis that does not answer by then is not checked."""
_KEEPS: Final = "noeviction"
_ALONE: Final = {Kind.SINGLE, Kind.SOCKET}
_MODES: Final = {
    "standalone": (_ALONE, "neither a sentinel nor a node of a Cluster", "redis"),
    "sentinel": ({Kind.SENTINEL}, "a sentinel", "redis+sentinel"),
    "cluster": ({Kind.CLUSTER}, "a node of a Cluster", "redis+cluster"),
}
"""For each mode that Redis may report: the kinds of address that fit, what it is, and how its URL must begin."""

_log = get_logger(__name__)


async def look_at(redis: RedisClient, address: Address) -> None:
    """Warn in the log if Redis drops keys when its memory is full, instead of refusing new ones: this loses sessions.

    Also warn if it does not answer: the address may be wrong, which would go unnoticed until the first session.

    Raises:
        SettingsError: Redis is of another kind than the address, or runs no scripts.
    """
    try:
        with propagating_cancellation():
            async with asyncio.timeout(_SECONDS):
                found = await _ask(redis, address)
    except Exception as error:
        if not (isinstance(error, RedisError | TimeoutError) or is_silence(error)):
            raise
        _log.warning("redis_not_reached", place=address.place, reason=code_of(error))
    else:
        _warn_of_eviction(found)


async def _ask(redis: RedisClient, address: Address) -> dict[str, Any]:
    """Return what Redis says about itself (INFO); in a Cluster, what each master says."""
    try:
        found: dict[str, Any] = await redis.info()
    except Exception as error:
        if is_of_another_kind(error):
            _check_kind(await info_of_any(redis), address)
        raise
    if address.kind in _ALONE:
        _check_kind(found, address)
    await _check_scripts(redis, address)
    return found


def _check_kind(info: dict[str, Any], address: Address) -> None:
    mode = str(info.get("redis_mode") or info.get("server_mode"))  # Valkey's word for it
    kinds, what, scheme = _MODES.get(mode, (set(Kind), "", ""))
    if address.kind not in kinds:
        scheme = scheme.replace("redis", "rediss", 1) if address.tls else scheme
        raise SettingsError(
            f"ANTECEDENT_REDIS_URL: {address.place} is {what}, so the URL must begin with {scheme}://;"
            " see docs/configuration.md"
        )


async def _check_scripts(redis: RedisClient, address: Address) -> None:
    try:
        await redis.eval("return 1", 0)
    except ResponseError as error:
        if is_of_another_kind(error):
            raise SettingsError(f"ANTECEDENT_REDIS_URL: {address.place} runs no scripts (EVAL)") from None
        raise


def _warn_of_eviction(info: dict[str, Any]) -> None:
    of_nodes = info.values() if isinstance(next(iter(info.values()), None), dict) else [info]
    policies = {str(node.get("maxmemory_policy", _KEEPS)) for node in of_nodes}
    if policies != {_KEEPS}:
        _log.warning("redis_may_evict", policy=", ".join(sorted(policies - {_KEEPS})), should_be=_KEEPS)
