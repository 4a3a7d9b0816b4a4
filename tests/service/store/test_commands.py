"""Running commands and scripts, against a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest
from redis.exceptions import ResponseError
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.testing import capture_logs

from service.errors import StoreUnavailableError
from service.store import nodes
from service.store.commands import Commands, read_script
from service.store.connection import RedisClient, connect, probe
from service.store.nodes import Policy
from service.telemetry.metrics import Metrics
from tests.support.commands import ping, served, until_served
from tests.support.servers import RedisServer, free_port

IMPATIENT = Policy(total_seconds=0.5, repetitions=1, failures=3, probe_seconds=0.02)
PATIENT = Policy(total_seconds=60)
"""For a Redis that will answer eventually, however busy this machine is."""
UNFORGIVING = replace(PATIENT, repetitions=1, failures=3, probe_seconds=60)
"""The same, but a Redis that counts as away does so until the test has failed."""


@asynccontextmanager
async def running(
    url: str, policy: Policy = PATIENT, metrics: Metrics | None = None, *, seconds: float = 60
) -> AsyncIterator[Commands]:
    """Commands on a Redis that has that many seconds for each reply."""
    async with connect(url, seconds) as client:
        commands = Commands(client, metrics or Metrics(), policy=policy)
        yield commands
        await commands.aclose()


async def test_redis_that_is_away_is_said_to_be_away() -> None:
    """If nothing listens, a call is repeated, and finally raises the error that tells clients to retry."""
    metrics = Metrics()
    async with running(f"redis://127.0.0.1:{free_port()}", replace(PATIENT, failures=100), metrics) as commands:
        with pytest.raises(StoreUnavailableError):
            await ping(commands)
    assert b'antecedent_redis_failures_total{operation="ping"} 5.0' in metrics.render(), "tried five times"


async def test_connection_that_is_lost_is_made_again(mortal_redis: RedisServer) -> None:
    """A call whose connection has died meanwhile, as when Redis restarts, succeeds on a new one."""
    async with running(mortal_redis.url) as commands:
        await ping(commands)
        mortal_redis.kill()
        mortal_redis.start()
        await ping(commands)


async def test_call_has_an_end(mortal_redis: RedisServer) -> None:
    """The duration of a whole call is limited, however long and numerous its tries may be."""
    policy = Policy(total_seconds=0.1, repetitions=1000, failures=1000)
    async with running(mortal_redis.url, policy, seconds=0.2) as commands:
        mortal_redis.pause()
        async with asyncio.timeout(60):
            with pytest.raises(StoreUnavailableError):
                await ping(commands)


async def test_call_whose_time_is_over_was_left_without_a_reply(mortal_redis: RedisServer) -> None:
    """A call that runs out of time counts as a failure even if a single reply may take longer than the whole call."""
    metrics = Metrics()
    policy = Policy(total_seconds=0.2, failures=1, probe_seconds=60)
    async with running(mortal_redis.url, policy, metrics) as commands:
        mortal_redis.pause()
        assert not await served(commands)
        assert metrics.registry.get_sample_value("antecedent_redis_nodes_away") == 1
        assert metrics.registry.get_sample_value("antecedent_redis_failures_total", {"operation": "ping"}) == 1
        mortal_redis.resume()


async def test_after_failures_in_a_row_redis_is_not_asked(mortal_redis: RedisServer) -> None:
    """Once Redis counts as away, calls fail without a try until our own ping is answered; both changes are logged."""
    metrics = Metrics()
    with capture_logs() as logs:
        async with running(mortal_redis.url, IMPATIENT, metrics, seconds=0.2) as commands:
            mortal_redis.pause()
            for _ in range(IMPATIENT.failures):
                assert not await served(commands)
            tries = metrics.registry.get_sample_value("antecedent_redis_seconds_count", {"operation": "ping"})
            assert not await served(commands)
            assert metrics.registry.get_sample_value("antecedent_redis_nodes_away") == 1
            again = metrics.registry.get_sample_value("antecedent_redis_seconds_count", {"operation": "ping"})
            assert again == tries
            mortal_redis.resume()
            await until_served(commands)
            assert metrics.registry.get_sample_value("antecedent_redis_nodes_away") == 0
    assert [line["event"] for line in logs if line["event"] != "redis_failed"] == ["redis_away", "redis_back"]


async def test_redis_that_is_away_again_is_back_again(mortal_redis: RedisServer) -> None:
    """Redis is probed in every outage, not only in the first one."""
    async with running(mortal_redis.url, IMPATIENT, seconds=0.2) as commands:
        for _ in range(2):
            mortal_redis.pause()
            for _ in range(IMPATIENT.failures):
                assert not await served(commands)
            mortal_redis.resume()
            await until_served(commands)


async def test_who_finds_redis_away_is_not_who_finds_it_back(mortal_redis: RedisServer) -> None:
    """The log lines of a failure name the request that it affected; the line of the recovery names none."""
    with capture_logs(processors=[merge_contextvars]) as logs:
        async with running(mortal_redis.url, IMPATIENT, Metrics(), seconds=0.2) as commands:
            mortal_redis.pause()
            with bound_contextvars(request_id="one that fails"):
                for _ in range(IMPATIENT.failures):
                    assert not await served(commands)
            mortal_redis.resume()
            await until_served(commands)
    assert {line["event"]: line.get("request_id") for line in logs} == {
        "redis_failed": "one that fails",
        "redis_away": "one that fails",
        "redis_back": None,
    }


async def test_calls_in_line_for_a_redis_that_is_away_fail_without_a_try(mortal_redis: RedisServer) -> None:
    """Otherwise each of them would in turn wait for its whole time."""
    metrics = Metrics()
    policy = Policy(connections=1, total_seconds=60, repetitions=0, failures=1, probe_seconds=60)
    async with running(mortal_redis.url, policy, metrics, seconds=0.2) as commands:
        mortal_redis.pause()
        assert not any(await asyncio.gather(*(served(commands) for _ in range(5))))
        assert metrics.registry.get_sample_value("antecedent_redis_seconds_count", {"operation": "ping"}) == 1
        mortal_redis.resume()


async def test_waiting_for_other_calls_is_no_silence(mortal_redis: RedisServer) -> None:
    """Calls that run out of time in line behind a slow one have not asked Redis anything, so it has not been silent."""
    metrics = Metrics()
    policy = Policy(connections=1, total_seconds=0.2, repetitions=0, failures=5, probe_seconds=60)

    done = asyncio.Event()

    async def keep_the_slot(redis: RedisClient) -> None:
        try:
            await cast(Awaitable[object], redis.blpop(["nothing"], 60))
        finally:
            await done.wait()

    async with running(mortal_redis.url, policy, metrics) as commands:
        slow = asyncio.create_task(commands.run("slow", keep_the_slot))
        assert not any(await asyncio.gather(*(served(commands) for _ in range(20))))
        done.set()
        with pytest.raises(StoreUnavailableError):
            await slow
        assert metrics.registry.get_sample_value("antecedent_redis_nodes_away") == 0
        await until_served(commands)


async def test_silences_with_replies_between_them_are_no_outage(redis_server: RedisServer) -> None:
    """This is so however many there are over time."""
    async with running(redis_server.url, UNFORGIVING) as commands:
        for _ in range(UNFORGIVING.failures):
            await _silence(commands)
            assert await served(commands)


async def _silence(commands: Commands) -> None:
    """Call what Redis does not answer in time, while other calls have all the time that they may need."""

    async def wait_for_nothing(redis: RedisClient) -> object:
        async with asyncio.timeout(0.01):
            return await cast(Awaitable[object], redis.blpop(["nothing"], 60))

    with pytest.raises(StoreUnavailableError):
        await commands.run("silence", wait_for_nothing)


async def test_refusal_is_a_reply(redis_server: RedisServer) -> None:
    """Only silences in a row count; a refusal in between, as from a Redis that is full, is an answer."""
    metrics = Metrics()
    async with running(redis_server.url, UNFORGIVING, metrics) as commands:
        for _ in range(UNFORGIVING.failures):
            await _silence(commands)
            with pytest.raises(ResponseError):
                await commands.run("wrong", lambda redis: redis.execute_command("GET"))
    assert metrics.registry.get_sample_value("antecedent_redis_nodes_away") == 0


async def test_redis_that_refuses_a_ping_is_back(mortal_redis: RedisServer) -> None:
    """A Redis that answers anything at all, even if its disk is full, is not away: reads may still succeed."""
    async with connect(mortal_redis.url, 60) as administrator:
        await administrator.execute_command("ACL", "SETUSER", "default", "-ping")

    async def read(commands: Commands) -> bool:
        try:
            await commands.run("read", lambda redis: redis.get("anything"))
        except StoreUnavailableError:
            return False
        return True

    async with running(mortal_redis.url, IMPATIENT, seconds=0.2) as commands:
        mortal_redis.pause()
        for _ in range(IMPATIENT.failures):
            assert not await read(commands)
        mortal_redis.resume()
        async with asyncio.timeout(60):
            while not await read(commands):
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", [ZeroDivisionError, RuntimeError])
async def test_asking_goes_on_whatever_it_meets(
    mortal_redis: RedisServer, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    """An unforeseen error in a probe is logged, and does not leave Redis marked as away for ever."""
    failures = iter([kind("a password")])

    async def probe_once(redis: RedisClient, node: str) -> None:
        for failure in failures:
            raise failure
        await probe(redis, node)

    monkeypatch.setattr(nodes, "probe", probe_once)
    with capture_logs() as logs:
        async with running(mortal_redis.url, IMPATIENT, seconds=0.2) as commands:
            mortal_redis.pause()
            for _ in range(IMPATIENT.failures):
                assert not await served(commands)
            mortal_redis.resume()
            await until_served(commands)
    events = [line["event"] for line in logs if line["event"] != "redis_failed"]
    assert events == ["redis_away", "redis_not_asked", "redis_back"]


async def test_calls_at_once_are_bounded(redis_server: RedisServer) -> None:
    """However many calls there are, Redis never sees more connections than allowed, and every call is answered."""

    async def counted(redis: RedisClient) -> int:
        await redis.client_setname("bounded")
        return sum(client["name"] == "bounded" for client in await redis.client_list())

    async with running(redis_server.url, replace(PATIENT, connections=3)) as commands:
        assert max(await asyncio.gather(*(commands.run("count", counted) for _ in range(100)))) <= 3


async def test_scripts_are_loaded_again(redis_server: RedisServer) -> None:
    """A script that Redis has forgotten is loaded again."""
    script = read_script("service.store", "read")
    async with running(redis_server.url) as commands, connect(redis_server.url, 5) as client:
        for _ in range(2):
            await client.script_flush()
            assert await commands.evaluate(script, ["none"] * 3, []) == [[], []]
            assert await client.script_exists(script.sha) == [True]


async def test_mistake_of_ours_is_no_outage(redis_server: RedisServer) -> None:
    """A wrong command is a bug and not an outage: it is neither repeated nor hidden."""
    metrics = Metrics()
    async with running(redis_server.url, PATIENT, metrics) as commands:
        with pytest.raises(ResponseError):
            await commands.run("wrong", lambda redis: redis.execute_command("GET"))
        with pytest.raises(RuntimeError, match="ours"):
            await commands.run("bug", _bug)
    assert b'antecedent_redis_failures_total{operation="wrong"} 1.0' in metrics.render()


async def _bug(_redis: RedisClient) -> None:
    raise RuntimeError("ours")


async def test_caller_that_leaves_harms_nobody(redis_server: RedisServer) -> None:
    """A cancelled call does not leave its answer behind for the next call to read."""
    async with running(redis_server.url, replace(PATIENT, connections=1)) as commands:
        for number in range(20):
            call = asyncio.create_task(commands.run("echo", lambda redis: redis.echo("cancelled")))
            for _ in range(number % 5):
                await asyncio.sleep(0)
            call.cancel()
            assert await commands.run("echo", lambda redis, n=number: redis.echo(str(n))) == str(number)


async def test_callers_that_leave_are_no_silence(redis_server: RedisServer) -> None:
    """Callers who leave before their reply, however many, do not make Redis count as away for the others."""
    async with running(redis_server.url, replace(PATIENT, failures=1, probe_seconds=60)) as commands:
        asked = asyncio.Event()

        async def slow(redis: RedisClient) -> object:
            asked.set()
            return await cast(Awaitable[object], redis.blpop(["nothing"], 60))

        call = asyncio.create_task(commands.run("slow", slow))
        await asked.wait()
        call.cancel()
        await asyncio.wait([call])
        assert await served(commands)


async def test_caller_that_leaves_as_its_command_is_sent_has_left(redis_server: RedisServer) -> None:
    """Before Python 3.12 `asyncio.wait_for` loses a cancellation that comes just as what it awaits succeeds."""
    sent = asyncio.get_running_loop().create_future()

    async def command(redis: RedisClient) -> str:
        await asyncio.wait_for(sent, 60)  # redis-py sends this way
        return str(await redis.echo("answered"))

    async with running(redis_server.url) as commands:
        call = asyncio.create_task(commands.run("echo", command))
        await asyncio.sleep(0.01)
        sent.set_result(None)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
