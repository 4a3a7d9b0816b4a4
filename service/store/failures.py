"""What an error of redis-py means to us: an outage (passing or lasting), a Redis that does not answer, or a bug."""

import re
import ssl
from collections.abc import Iterator

from redis.exceptions import (
    AuthenticationError,
    ClusterError,
    InvalidResponse,
    MaxConnectionsError,
    RedisClusterException,
    ResponseError,
    SlotNotCoveredError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

_PASSING = {"BUSY", "LOADING", "READONLY", "NOREPLICAS", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN"}
"""Refusals that end by themselves or on another node: a running script, a restart, a failover, a slot on its way."""

_OF_ANOTHER_KIND = {"MOVED", "ASK", "NOCLUSTER", "NOCOMMAND"}
"""Refusals that show a server of another kind than the URL says: a node of a Cluster, a sentinel, or neither."""

_LASTING = {"MISCONF", "NOAUTH", "NOPERM", "OOM", "WRONGPASS", *_OF_ANOTHER_KIND}
"""Refusals that last until a person does something about them."""

_NO_WRITES = {"MISCONF", "NOREPLICAS", "OOM", "READONLY"}
"""Refusals of writes, by a Redis that can still be read."""

_NO_ROOM = "MAXCLIENTS"
"""The refusal of one more connection; one may be accepted in a moment, when other clients leave."""

_TURNED_AWAY = {
    "AUTH <password> called without any password configured": "NOPASSWORD",
    "DENIED Redis is running in protected mode": "DENIED",
    "DB index is out of range": "SELECT",
    "SELECT is not allowed in cluster mode": "SELECT",
    "max number of clients": _NO_ROOM,
}
"""How messages begin by which Redis refuses our connection, our password or our database, and our word for each."""

_ABSENT = {"This instance has cluster support disabled": "NOCLUSTER", "unknown command": "NOCOMMAND"}
"""The same where Redis lacks what is asked for: it is of another kind, or its operator has disabled that."""

_CERTIFICATE = {
    10: "CERTIFICATE_EXPIRED",
    62: "CERTIFICATE_OF_ANOTHER_HOST",
    64: "CERTIFICATE_OF_ANOTHER_HOST",
}
"""What may be wrong with a certificate whose authority is trusted, by OpenSSL's error number."""

_NOT_PERMITTED = ("The user executing the script can't run this command", "ACL failure in script: ")
"""NOPERM within a script: in Redis 6 and 7; in later releases and in Valkey."""

_UNKNOWN = ("Unknown Redis command called from", "Unknown command called from")
"""NOCOMMAND within a script: in Redis; in Valkey."""

_IN_A_SCRIPT = re.compile(r"(?:^|-)([A-Z]+) ")
"""Redis 6 hides the code of an error within a script: `ERR Error running script ...: -OOM command not allowed`."""


def code_of(error: BaseException) -> str:
    """Return Redis's own code for a refusal, else that of TLS, else the type of the error or its cause.

    It is never the message, which may quote what was sent.
    """
    return next((word for each in _behind(error) if (word := _word(each)) is not None), type(error).__name__)


def is_silence(error: Exception) -> bool:
    """Return whether Redis has not answered, or would not answer a ping either, which is what the breaker counts.

    This includes something other than Redis that answers in its place.
    """
    lost = isinstance(error, RedisConnectionError | RedisTimeoutError | RedisClusterException | OSError)
    return lost or isinstance(error, InvalidResponse) or _is_closed(error) or _turned_away(error) is not None


def is_outage(error: Exception) -> bool:
    """Return whether Redis cannot serve now, so that clients should try again later."""
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING | _LASTING


def is_passing(error: Exception) -> bool:
    """Return whether the same command may succeed in a moment."""
    if isinstance(error, AuthenticationError | MaxConnectionsError) or _turned_away(error) not in {None, _NO_ROOM}:
        return False
    return is_silence(error) or _is_moving(error) or code_of(error) in _PASSING


def is_of_no_master(error: Exception) -> bool:
    """Return whether this server may no longer be the one to write to: it is a replica, or is cut off from its own."""
    return code_of(error) in {"READONLY", "NOREPLICAS"}


def is_of_another_kind(error: Exception) -> bool:
    """Return whether Redis may be of another kind (node of a Cluster, sentinel, neither) than it was taken for."""
    return code_of(error) in _OF_ANOTHER_KIND


def is_of_writes(error: BaseException) -> bool:
    """Return whether Redis refuses writes, but can still be read."""
    return code_of(error) in _NO_WRITES


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause or context, and so on."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _word(error: BaseException) -> str | None:
    if isinstance(error, ResponseError):
        return _refusal(error)
    if isinstance(error, RedisConnectionError):
        return _turned_away(error) or error.status_code
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _CERTIFICATE:
        return _CERTIFICATE[error.verify_code]
    if isinstance(error, ssl.SSLError):
        return error.reason or type(error).__name__
    if isinstance(error, OSError | SlotNotCoveredError):
        return type(error).__name__
    return getattr(error, "status_code", None)


def _refusal(error: ResponseError) -> str:
    said = str(error)
    if (found := _turned_away(error) or _begins(said, _ABSENT)) is not None:
        return found
    if any(words in said for words in _NOT_PERMITTED):
        return "NOPERM"
    if any(words in said for words in _UNKNOWN):
        return "NOCOMMAND"
    if error.status_code not in {None, "ERR"}:
        return str(error.status_code)
    known = [code for code in _IN_A_SCRIPT.findall(said) if code in _PASSING | _LASTING]
    return known[0] if known else "ERR"


def _turned_away(error: Exception) -> str | None:
    """Return our code for a refusal of every connection; in most cases a person has to change the settings."""
    return _begins(str(error), _TURNED_AWAY) if isinstance(error, ResponseError | RedisConnectionError) else None


def _begins(said: str, words: dict[str, str]) -> str | None:
    return next((word for beginning, word in words.items() if said.startswith(beginning)), None)


def _is_closed(error: Exception) -> bool:
    """Return whether uvloop reports a connection that was closed before something could be sent on it."""
    return isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")


def _is_moving(error: Exception) -> bool:
    """Return whether redis-py was redirected from node to node and gave up, as may happen while a slot moves."""
    return isinstance(error, ClusterError)
