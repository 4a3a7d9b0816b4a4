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

_NOT_PERMITTED = "The user executing the script can't run this command"
"""NOPERM within a script, in Redis 6 and 7."""

_IN_A_SCRIPT = re.compile(r"(?:^|-)([A-Z]+) ")
"""Redis 6 hides the code of an error within a script: `ERR Error running script ...: -OOM command not allowed`."""


def code_of(error: Exception) -> str:
    """Redis's own word for a refusal, else the type; never the message, which may hold what was sent."""
    if not isinstance(error, ResponseError):
        return getattr(error, "status_code", None) or type(error).__name__
    if _NOT_PERMITTED in str(error):
        return "NOPERM"
    if error.status_code not in {None, "ERR"}:
        return str(error.status_code)
    known = [code for code in _IN_A_SCRIPT.findall(str(error)) if code in _PASSING | _LASTING]
    return known[0] if known else "ERR"


def is_silence(error: Exception) -> bool:
    """Whether Redis has not answered, or would not answer a ping either: what the breaker counts."""
    lost = isinstance(error, RedisConnectionError | RedisTimeoutError | RedisClusterException | OSError)
    return lost or _is_closed(error)


def is_outage(error: Exception) -> bool:
    """Whether Redis cannot serve now, and clients should try again later."""
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING | _LASTING


def is_passing(error: Exception) -> bool:
    """Whether the same command may succeed in a moment."""
    if isinstance(error, AuthenticationError | MaxConnectionsError):
        return False
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING


def is_of_no_master(error: Exception) -> bool:
    """Whether this server may not be the one to write to any more: it is a replica, or cut off from its own."""
    return code_of(error) in {"READONLY", "NOREPLICAS"}


def _is_closed(error: Exception) -> bool:
    """Whether uvloop says that a connection was closed before something was to be sent on it."""
    return isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")


def _is_moving(error: Exception) -> bool:
    """Whether redis-py was sent from node to node and gave up, as it may while a slot is on its way."""
    return isinstance(error, ClusterError)
