"""The limiter of a replica: which limits apply, and who counts while Redis is unavailable."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from itertools import count

import pytest
from structlog.testing import capture_logs

from service.access.caller import Caller, KeyLimits
from service.access.limiter import Limiter
from service.access.local_limits import LocalLimits
from service.access.shared_limits import SharedLimits
from service.errors import ConcurrencyLimitError, RateLimitedError, ServiceError
from service.store.commands import Commands
from service.store.connection import connect
from service.store.nodes import Policy
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer

CALLER = Caller("tenant", "key", frozenset({"translate"}))
TOKENS = count()
"""Numbers for the tokens of places, which must be unique across replicas."""

NewReplica = Callable[..., Limiter]


@pytest.fixture
async def metrics() -> Metrics:
    """The metrics that all replicas of a test share."""
    return Metrics()


@pytest.fixture
async def new_replica(mortal_redis: RedisServer, metrics: Metrics) -> AsyncIterator[NewReplica]:
    """Makes limiters, each with a connection of its own."""
    made: list[Callable[[], Awaitable[None]]] = []

    def new(
        *, per_minute: int = 0, concurrency: int = 0, lease_seconds: float = 60, redis_seconds: float = 60
    ) -> Limiter:
        client = connect(mortal_redis.url, redis_seconds / 2)
        commands = Commands(client, metrics, policy=Policy(total_seconds=redis_seconds))
        made.extend([commands.aclose, client.aclose])
        return Limiter(
            SharedLimits(commands, lease_seconds),
            LocalLimits(asyncio.get_running_loop().time),
            per_minute=per_minute,
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            new_id=lambda: str(next(TOKENS)),
        )

    yield new
    for close in made:
        await close()


async def test_replicas_refuse_together(new_replica: NewReplica) -> None:
    """Sentences admitted by one replica count at the other; a refusal says when to retry."""
    one, other = new_replica(per_minute=5), new_replica(per_minute=5)
    quota = await one.spend(CALLER, 4)
    assert quota is not None
    assert quota.remaining == 1
    with pytest.raises(RateLimitedError) as caught:
        await other.spend(CALLER, 2)
    headers = caught.value.headers()
    told = "this key has 1 left of its 5 sentences per minute, and the request takes 2: try again in "
    assert str(caught.value).startswith(told)
    assert 50 < int(headers["Retry-After"]) <= 60
    assert headers["RateLimit"] == f'"default";r=1;t={headers["Retry-After"]}'
    assert headers["RateLimit-Policy"] == '"default";q=5;w=60'


async def test_a_keys_own_limits_win(new_replica: NewReplica) -> None:
    """A key's own limits, higher or lower, override those of the service; where it has none, the service's apply."""
    limiter = new_replica(per_minute=2, concurrency=1)
    richer = replace(CALLER, key_id="richer", limits=KeyLimits(sentences_per_minute=10, concurrency=2))
    async with limiter.admit(richer, 9), limiter.hold(richer):
        with pytest.raises(ConcurrencyLimitError):
            await _hold(limiter, richer)
    await limiter.spend(richer, 1)
    with pytest.raises(RateLimitedError):
        await limiter.spend(richer, 1)
    async with limiter.admit(CALLER, 2):
        with pytest.raises(RateLimitedError):
            await limiter.spend(CALLER, 1)
        with pytest.raises(ConcurrencyLimitError):
            await _hold(limiter)


async def test_long_document_passes_when_nothing_else_has(new_replica: NewReplica) -> None:
    """A document longer than a minute's quota costs all of it, instead of being refused for ever."""
    limiter = new_replica(per_minute=5)
    quota = await limiter.spend(CALLER, 5000)
    assert quota is not None
    assert quota.remaining == 0


async def test_refusal_tells_how_many_sentences_there_are(new_replica: NewReplica) -> None:
    """The true number is given even for a document longer than a minute's quota, which is charged only that much."""
    limiter = new_replica(per_minute=5, concurrency=1)
    await limiter.spend(CALLER, 1)
    with pytest.raises(RateLimitedError, match=r"has 4 left of its 5 .* takes 50: "):
        async with limiter.admit(CALLER, 50):
            pass


async def test_no_limit_asks_nothing_of_redis(new_replica: NewReplica, metrics: Metrics) -> None:
    """Without limits a request has no quota and costs no round trip to Redis."""
    async with new_replica().admit(CALLER, 5000) as quota:
        assert quota is None
    assert b"antecedent_redis_seconds_count" not in metrics.render()


async def test_request_with_both_limits_is_one_round_trip(new_replica: NewReplica, metrics: Metrics) -> None:
    """Rate and place are requested together; giving the place back is a second round trip."""
    async with new_replica(per_minute=5, concurrency=5).admit(CALLER, 1):
        pass
    for operation in ("admit", "release"):
        assert f'antecedent_redis_seconds_count{{operation="{operation}"}} 1.0'.encode() in metrics.render()


async def test_place_is_given_back_however_the_request_ends(new_replica: NewReplica) -> None:
    """An error or a cancellation frees the place just as an answer does."""
    limiter = new_replica(concurrency=1)
    with pytest.raises(ZeroDivisionError):
        async with limiter.hold(CALLER):
            raise ZeroDivisionError
    held = asyncio.Event()

    async def hold() -> None:
        async with limiter.hold(CALLER):
            held.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(hold())
    await held.wait()
    holding.cancel()
    await asyncio.wait({holding})
    await _hold(limiter)


async def test_who_leaves_while_redis_is_asked_keeps_no_place(
    new_replica: NewReplica, mortal_redis: RedisServer, metrics: Metrics
) -> None:
    """If, say, a request's own deadline passes meanwhile, the place that Redis assigns is given back at once."""
    limiter = new_replica(concurrency=1, lease_seconds=600)
    await _hold(limiter)  # connects to Redis
    mortal_redis.pause()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await _hold(limiter)
    mortal_redis.resume()
    async with asyncio.timeout(60):
        while b'antecedent_redis_seconds_count{operation="release"} 2.0' not in metrics.render():
            await asyncio.sleep(0.01)
    await _hold(limiter)


async def test_who_leaves_while_a_place_is_given_back(new_replica: NewReplica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that passes just as the request has been answered loses no place either."""
    under_way, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_limits: SharedLimits, _key_id: str, _token: str) -> None:
        under_way.set()
        await go_on.wait()

    monkeypatch.setattr(SharedLimits, "renew", slow)
    limiter = new_replica(concurrency=1, lease_seconds=600)
    monkeypatch.setattr(limiter, "_lease_seconds", 0.03)

    async def hold_until_it_is_renewed() -> None:
        async with limiter.hold(CALLER):
            await under_way.wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await hold_until_it_is_renewed()
    go_on.set()
    await _eventually(lambda: _hold(limiter))


async def test_place_of_a_long_stream_is_renewed(new_replica: NewReplica, mortal_redis: RedisServer) -> None:
    """The lease of a held place is extended, so that it does not end before the stream does."""
    limiter = new_replica(concurrency=1, lease_seconds=0.3)
    async with limiter.hold(CALLER), connect(mortal_redis.url, 60) as client:
        ends: set[float] = set()
        async with asyncio.timeout(60):
            while len(ends) < 4:
                await asyncio.sleep(0.01)
                ends |= {
                    end for _, end in await client.zrange("antecedent:{limits:key}:places", 0, -1, withscores=True)
                }


async def test_renewal_that_fails_unforeseen_is_tried_again(
    new_replica: NewReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is logged, and the place is not lost because of it."""
    outcomes = iter([ZeroDivisionError("a tenant's name")])
    renewed = asyncio.Event()

    async def renew(_limits: SharedLimits, _key_id: str, _token: str) -> None:
        if (failure := next(outcomes, None)) is not None:
            raise failure
        renewed.set()

    monkeypatch.setattr(SharedLimits, "renew", renew)
    with capture_logs() as lines:
        async with new_replica(concurrency=1, lease_seconds=0.03).hold(CALLER), asyncio.timeout(60):
            await renewed.wait()
    assert [line["event"] for line in lines] == ["place_not_renewed"]


async def test_place_is_given_back_after_a_renewal_that_is_under_way(
    new_replica: NewReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the reverse order the renewal would find no place, consider it lost, and take a new one that nobody frees."""
    under_way, go_on = asyncio.Event(), asyncio.Event()
    renew = SharedLimits.renew
    sent: list[asyncio.Task[None]] = []

    async def arrive(limits: SharedLimits, key_id: str, token: str) -> None:
        await go_on.wait()
        await renew(limits, key_id, token)

    async def slow(limits: SharedLimits, key_id: str, token: str) -> None:
        sent.append(asyncio.create_task(arrive(limits, key_id, token)))
        under_way.set()
        await asyncio.shield(sent[-1])

    monkeypatch.setattr(SharedLimits, "renew", slow)
    limiter = new_replica(concurrency=1, lease_seconds=30)
    monkeypatch.setattr(limiter, "_lease_seconds", 0.03)
    async with limiter.hold(CALLER), asyncio.timeout(60):
        await under_way.wait()
        asyncio.get_running_loop().call_later(0.05, go_on.set)
    await asyncio.gather(*sent)
    await _hold(limiter)


async def test_each_replica_counts_alone_while_redis_is_away(
    new_replica: NewReplica, mortal_redis: RedisServer
) -> None:
    """Without Redis each replica enforces the limits by itself; when Redis is back, its own count resumes."""
    replicas = [new_replica(per_minute=3, concurrency=1) for _ in range(2)]
    await replicas[0].spend(CALLER, 2)
    mortal_redis.kill()
    for limiter in replicas:
        async with limiter.admit(CALLER, 3):
            with pytest.raises(ConcurrencyLimitError):
                await _hold(limiter)
        with pytest.raises(RateLimitedError):
            await limiter.spend(CALLER, 1)
        await _hold(limiter)
    mortal_redis.start()
    await _eventually(lambda: replicas[0].spend(CALLER, 1))  # one is left by Redis's count, none by the replica's own
    with pytest.raises(RateLimitedError):
        await replicas[0].spend(CALLER, 1)


async def test_place_held_across_an_outage(new_replica: NewReplica, mortal_redis: RedisServer) -> None:
    """A stream outlives Redis; its place, which could not be given back, is free soon after Redis is back."""
    limiter, other = [new_replica(concurrency=1, lease_seconds=600) for _ in range(2)]
    async with limiter.hold(CALLER):
        mortal_redis.kill()
    mortal_redis.start()
    await _eventually(lambda: _hold(other))  # which has not found Redis away, and so does not count by itself


@pytest.mark.parametrize("requests", [1, 6])
async def test_place_that_redis_grants_too_late(
    new_replica: NewReplica, mortal_redis: RedisServer, requests: int
) -> None:
    """A Redis that hangs and then goes on also does what it was asked in vain; such a place is given back, too.

    After several such requests Redis counts as away, and they are not repeated.
    """
    limiter, other = [new_replica(concurrency=1, lease_seconds=600, redis_seconds=seconds) for seconds in (1, 60)]
    await _hold(limiter)  # connects to Redis
    mortal_redis.pause()
    in_vain = [_hold(limiter) for _ in range(requests)]  # counted by the replica itself
    await asyncio.gather(*in_vain, return_exceptions=True)
    mortal_redis.resume()
    await _eventually(lambda: _hold(other))


async def test_place_whose_lease_ends_in_an_outage(new_replica: NewReplica, mortal_redis: RedisServer) -> None:
    """It is free without being given back."""
    limiter, other = [new_replica(concurrency=1, lease_seconds=0.3) for _ in range(2)]
    async with limiter.hold(CALLER):
        mortal_redis.kill()
    await asyncio.sleep(0.5)
    mortal_redis.start()
    await _eventually(lambda: _hold(other))


async def _hold(limiter: Limiter, caller: Caller = CALLER) -> None:
    """Take a place and give it back."""
    async with limiter.hold(caller):
        pass


async def _eventually(attempt: Callable[[], Awaitable[object]]) -> None:
    """Repeat an attempt until no limit refuses it."""
    async with asyncio.timeout(60):
        while True:
            try:
                await attempt()
                return
            except ServiceError:
                await asyncio.sleep(0.02)
