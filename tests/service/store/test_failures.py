"""How errors of redis-py are interpreted."""

import asyncio
import socket
from contextlib import suppress

import pytest
import uvloop
from redis._parsers.base import BaseParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisClusterException, SlotNotCoveredError
from redis.exceptions import TimeoutError as RedisTimeoutError

from service.store.failures import code_of, is_outage, is_passing, is_silence

_IN_A_SCRIPT = "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: "


@pytest.mark.parametrize(
    ("reply", "code", "passing"),
    [
        ("LOADING Redis is loading the dataset in memory", "LOADING", True),
        ("CLUSTERDOWN The cluster is down", "CLUSTERDOWN", True),
        ("MASTERDOWN Link with MASTER is down", "MASTERDOWN", True),
        ("TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN", True),
        ("READONLY You can't write against a read only replica.", "READONLY", True),
        (f"{_IN_A_SCRIPT}-READONLY You can't write against a read only replica.", "READONLY", True),
        ("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "BUSY", True),
        ("OOM command not allowed when used memory > 'maxmemory'.", "OOM", False),
        (f"{_IN_A_SCRIPT}-OOM command not allowed when used memory > 'maxmemory'.", "OOM", False),
        ("MISCONF Errors writing to the AOF file: No space left on device", "MISCONF", False),
        ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", True),
        ("NOAUTH Authentication required.", "NOAUTH", False),
        ("WRONGPASS invalid username-password pair or user is disabled.", "WRONGPASS", False),
        ("NOPERM this user has no permissions to run the 'set' command", "NOPERM", False),
        ("ERR DB index is out of range", "SELECT", False),
        ("ERR SELECT is not allowed in cluster mode", "SELECT", False),
        ("MOVED 15905 127.0.0.1:37285", "MOVED", False),
        ("ASK 15905 127.0.0.1:37285", "ASK", False),
        ("ERR unknown command 'EVAL', with args beginning with: 'himitsu'", "NOCOMMAND", False),
        ("ERR unknown command `EVAL`, with args beginning with: `himitsu`", "NOCOMMAND", False),
        ("ERR Unknown Redis command called from script script: f_1, on @user_script:1.", "NOCOMMAND", False),
        (f"{_IN_A_SCRIPT}Unknown Redis command called from Lua script", "NOCOMMAND", False),
        ("ERR Unknown command called from script script: f_1, on @user_script:1.", "NOCOMMAND", False),
        ("ERR This instance has cluster support disabled", "NOCLUSTER", False),
        ("ERR AUTH <password> called without any password configured for the default user.", "NOPASSWORD", False),
        ("DENIED Redis is running in protected mode because protected mode is enabled", "DENIED", False),
        ("ERR max number of clients reached", "MAXCLIENTS", True),
        ("ERR max number of clients + cluster connections reached", "MAXCLIENTS", True),
        (f"{_IN_A_SCRIPT}The user executing the script can't run this command or subcommand", "NOPERM", False),
        ("ERR ACL failure in script: User antecedent has no permissions to run the 'hset' command", "NOPERM", False),
    ],
)
def test_refusals_that_are_outages(reply: str, code: str, passing: bool) -> None:
    """Redis's own error code is found, inside a script error too, and decides whether a repetition is worthwhile."""
    error = BaseParser.parse_error(reply)
    assert (code_of(error), is_outage(error), is_passing(error)) == (code, True, passing)


@pytest.mark.parametrize(
    "reply", ["ERR value is not an integer", "WRONGTYPE Operation against a key", "ERR SECRET OOM "]
)
def test_mistakes_are_none(reply: str) -> None:
    """A wrong command is not an outage, and nothing of what was sent is taken for a code."""
    error = BaseParser.parse_error(reply)
    assert not is_outage(error)
    assert not is_passing(error)
    assert "SECRET" not in code_of(error)


@pytest.mark.parametrize(
    "error",
    [
        RedisTimeoutError("late"),
        RedisClusterException("none"),
        ConnectionResetError(),
        InvalidResponse("Protocol Error: b'HTTP/1.1 400 Bad Request'"),
    ],
)
def test_silence_is_worth_a_repetition(error: Exception) -> None:
    """No reply, or one from something other than Redis, counts for the breaker and is worth a repetition."""
    assert is_silence(error)
    assert is_outage(error)
    assert is_passing(error)


def test_what_lies_behind_is_the_reason() -> None:
    """The underlying error is the reason; the one raised in its place just says that there is no connection."""
    refused = RedisConnectionError("Error 111 connecting to localhost")
    refused.__context__ = ConnectionRefusedError()
    assert code_of(refused) == "ConnectionRefusedError"
    unknown = RedisClusterException("Redis Cluster cannot be connected")
    unknown.__cause__ = RedisConnectionError("Error -2 connecting to nowhere")
    unknown.__cause__.__context__ = socket.gaierror()
    assert code_of(unknown) == "gaierror"
    uncovered = RedisConnectionError("SlotNotCoveredError")
    uncovered.__cause__ = SlotNotCoveredError("no master has the slot")
    assert code_of(uncovered) == "SlotNotCoveredError"
    hidden = RedisConnectionError("closed")
    hidden.__context__, hidden.__suppress_context__ = OSError(), True
    assert code_of(hidden) == "ConnectionError"


def test_connection_that_uvloop_has_closed_is_silence() -> None:
    """If Redis dies between the opening of a connection and its first command, that is an outage and not a bug."""
    with uvloop_runner() as runner, pytest.raises(RuntimeError) as raised:
        runner.run(write_to_a_connection_that_is_closed())
    assert is_silence(raised.value)
    assert not is_silence(RuntimeError("something else"))


def uvloop_runner() -> asyncio.Runner:
    """A runner with the event loop of the service."""
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def write_to_a_connection_that_is_closed() -> None:
    """Write as redis-py does."""
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()
        writer.writelines([b"PING"])
