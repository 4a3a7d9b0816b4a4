"""What an error of redis-py means to us: an outage, one that passes by itself, a Redis that is silent, or a bug."""

import re

from redis.exceptions import (
    AuthenticationError,
    ClusterError,
    MaxConnectionsError,
    RedisClusterException,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

_PASSING = {"BUSY", "LOADING", "READONLY", "NOREPLICAS", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN"}
"""Refusals that end by themselves, or elsewhere: somebody's script, a restart, a failover, slots on their way."""

_LASTING = {"MISCONF", "NOAUTH", "NOPERM", "OOM", "WRONGPASS"}
"""Refusals that a person has to end."""

_TURNED_AWAY = {
    "DENIED Redis is running in protected mode": "DENIED",
    "DB index is out of range": "SELECT",
    "SELECT is not allowed in cluster mode": "SELECT",
}
"""How what Redis says begins where it takes no connection from us, or has not the database that each begins with."""

_NOT_PERMITTED = "The user executing the script can't run this command"
"""NOPERM within a script, in Redis 6 and 7."""

_IN_A_SCRIPT = re.compile(r"(?:^|-)([A-Z]+) ")
"""Redis 6 hides the code of an error within a script: `ERR Error running script ...: -OOM command not allowed`."""


def code_of(error: Exception) -> str:
    """Redis's own word for a refusal, else the type; never the message, which may hold what was sent."""
    if not isinstance(error, ResponseError):
        return getattr(error, "status_code", None) or type(error).__name__
    if (turned_away := _turned_away(error)) is not None:
        return turned_away
    if _NOT_PERMITTED in str(error):
        return "NOPERM"
    if error.status_code not in {None, "ERR"}:
        return str(error.status_code)
    known = [code for code in _IN_A_SCRIPT.findall(str(error)) if code in _PASSING | _LASTING]
    return known[0] if known else "ERR"


def is_silence(error: Exception) -> bool:
    """Whether Redis has not answered, or would not answer a ping either: what the breaker counts."""
    lost = isinstance(error, RedisConnectionError | RedisTimeoutError | RedisClusterException | OSError)
    return lost or _is_closed(error) or _turned_away(error) is not None


def is_outage(error: Exception) -> bool:
    """Whether Redis cannot serve now, and clients should try again later."""
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING | _LASTING


def is_passing(error: Exception) -> bool:
    """Whether the same command may succeed in a moment."""
    if isinstance(error, AuthenticationError | MaxConnectionsError) or _turned_away(error) is not None:
        return False
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING


def is_of_no_master(error: Exception) -> bool:
    """Whether this server may not be the one to write to any more: it is a replica, or cut off from its own."""
    return code_of(error) in {"READONLY", "NOREPLICAS"}


def _turned_away(error: Exception) -> str | None:
    """The word for a refusal that no connection of ours gets past; a person has to end it, mostly in the settings."""
    said = str(error) if isinstance(error, ResponseError) else ""
    return next((word for beginning, word in _TURNED_AWAY.items() if said.startswith(beginning)), None)


def _is_closed(error: Exception) -> bool:
    """Whether uvloop says that a connection was closed before something was to be sent on it."""
    return isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")


def _is_moving(error: Exception) -> bool:
    """Whether redis-py was sent from node to node and gave up, as it may while a slot is on its way."""
    return isinstance(error, ClusterError)
