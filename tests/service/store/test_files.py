"""Files that await translation, in a real Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from service.errors import FileUnknownError, StoreUnavailableError, TooManyFilesError
from service.store.commands import Commands
from service.store.connection import RedisClient, connect
from service.store.files import ClaimedFile, FileKey, Files, KeptFile
from service.telemetry.metrics import Metrics
from tests.support.lossy_redis import LossyRedis
from tests.support.servers import RedisServer

KEPT = KeptFile("a.txt", "ja", "en", secret="secret", sentences=2, characters=5)
KEYS = [FileKey(tenant, letter * 22) for tenant, letter in (("one", "a"), ("one", "b"), ("other", "c"), ("one", "d"))]

FILES, SIZES = "antecedent:{one}:files", "antecedent:{one}:file-bytes"
QUEUE = "antecedent:files"


class AtTheQueue(LossyRedis):
    """A client that, instead of putting a file into the queue, calls `instead` with the function that would."""

    def __init__(self, client: RedisClient, instead: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
        super().__init__(client)
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)
        if name not in {"evalsha", "eval"}:
            return call

        async def run(script: str, number: int, *args: Any) -> Any:
            put = partial(call, script, number, *args)
            return await (self._instead(put) if args[0] == QUEUE else put())

        return run


@pytest.fixture
async def redis(mortal_redis: RedisServer, tmp_path: Path) -> AsyncIterator[RedisClient]:
    """A client of this test's own server, since all files share one queue."""
    del tmp_path
    async with connect(mortal_redis.url, 5) as client:
        yield client


def files(
    redis: object, *, lease_seconds: float = 60, most: int = 9, ttl_seconds: int = 60, most_bytes: int = 1000
) -> Files:
    """The files as one replica sees them."""
    commands = Commands(cast(Redis, redis), Metrics())
    return Files(commands, ttl_seconds=ttl_seconds, lease_seconds=lease_seconds, most=most, most_bytes=most_bytes)


async def kept(redis: object, number: int = 1) -> Files:
    """Store files under the first of KEYS, one after the other."""
    made = files(redis)
    for key in KEYS[:number]:
        await made.keep(key, KEPT, b"\xffcontent")
        await asyncio.sleep(0.001)
    return made


async def _dies(put: Callable[[], Awaitable[Any]]) -> None:
    del put
    raise ZeroDivisionError


async def claimed(of: Files, token: str, *held: FileKey) -> ClaimedFile:
    """Claim the next file, which must exist."""
    found = await of.claim(token, held)
    assert found is not None
    return found


async def test_each_is_claimed_once_the_oldest_first(redis: RedisClient) -> None:
    """Each file is claimed with its exact content, until there are no more."""
    made = await kept(redis, 2)
    first, second = await claimed(made, "x"), await claimed(files(redis), "y")
    assert [each.key for each in (first, second)] == KEYS[:2]
    assert (first.file, first.content, first.attempt) == (KEPT, b"\xffcontent", 1)
    assert await made.claim("z", []) is None


async def test_queue_is_in_the_order_of_redis(redis: RedisClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis's clock decides, so that a replica whose clock is slow cannot put its files before earlier ones."""
    await kept(redis)
    monkeypatch.setattr("time.time", lambda: 1.0)
    await files(redis).keep(KEYS[1], KEPT, b"content")
    (seconds, _) = await redis.time()
    places = await redis.zrange(QUEUE, 0, -1, withscores=True)
    assert [member for member, _ in places] == [key.member for key in KEYS[:2]]
    assert all(seconds - 60 < place <= seconds + 1 for _, place in places)


async def test_who_has_files_of_a_tenant_takes_those_of_others_first(redis: RedisClient) -> None:
    """A replica prefers tenants of whom it has no file yet, so that one with many files does not block the others."""
    made = await kept(redis, 4)
    first = await claimed(made, "x")
    second = await claimed(made, "y", first.key)
    third = await claimed(made, "z", first.key, second.key)
    assert await made.claim("w", [], KEYS) is None  # all of them excluded, as left to others
    assert [each.key for each in (first, second, third)] == [KEYS[0], KEYS[2], KEYS[1]]


async def test_those_left_to_others_hide_none(redis: RedisClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files left to replicas with other languages do not hide later ones, however many they are."""
    monkeypatch.setattr("service.store.files._LOOKED_AT", 1)
    made = await kept(redis, 4)
    found = await made.claim("x", KEYS[:1], KEYS[1:3])
    assert found is not None
    assert found.key == KEYS[3]
    assert await made.claim("y", [], KEYS[:3]) is None


async def test_a_lease_that_ends_is_anothers_to_take(redis: RedisClient) -> None:
    """That is a new attempt; the previous holder finds the lease lost, and can change nothing."""
    await kept(redis)
    slow, quick = files(redis, lease_seconds=0.05), files(redis)
    lost = await claimed(slow, "x")
    await asyncio.sleep(0.1)
    taken = await claimed(quick, "y")
    assert (taken.key, taken.attempt) == (KEYS[0], 2)
    assert not await slow.renew(lost, 1)
    await slow.finish(lost, b"lost")
    await slow.release(lost, counts=False)
    assert (await quick.state(KEYS[0])).status == "translating"
    await quick.finish(taken, b"\xfetaken", 0)
    assert await quick.translation(KEYS[0]) == b"\xfetaken"
    assert (await quick.state(KEYS[0])).unsure == 0


async def test_a_lease_that_nobody_took_is_renewed(redis: RedisClient) -> None:
    """An expired lease, as after an outage of Redis, can be renewed if nobody has claimed the file in between."""
    await kept(redis)
    mine, made = await claimed(files(redis, lease_seconds=0.05), "x"), files(redis)
    await asyncio.sleep(0.1)
    assert await made.claim("y", [mine.key]) is None
    assert (await made.state(KEYS[0])).unsure is None
    assert await made.renew(mine, 2, 1)
    state = await made.state(KEYS[0])
    assert (state.sentences, state.unsure) == (2, 1)
    assert await made.renew(mine, 2)
    assert (await made.state(KEYS[0])).unsure is None
    assert await made.claim("y", []) is None


@pytest.mark.parametrize("counts", [True, False])
async def test_what_is_released_is_anothers_at_once(redis: RedisClient, counts: bool) -> None:
    """The next claim has a higher number of attempts only if the released one counts."""
    made = await kept(redis)
    await made.release(await claimed(made, "x"), counts=counts)
    assert (await made.state(KEYS[0])).status == "queued"
    assert (await claimed(made, "y")).attempt == 1 + counts


@pytest.mark.parametrize("end", ["finish", "fail"])
async def test_what_has_come_to_an_end_is_never_claimed_again(redis: RedisClient, end: str) -> None:
    """The content of a finished or failed file is gone, and so is its place in the queue."""
    made = await kept(redis)
    mine = await claimed(made, "x")
    await (made.finish(mine, b"done") if end == "finish" else made.fail(mine, "wrong"))
    assert await made.claim("y", []) is None
    assert await redis.zcard("antecedent:files") == 0
    assert not await redis.hexists(KEYS[0].names()[0], "content")
    assert (await made.state(KEYS[0])).problem == ("" if end == "finish" else "wrong")
    if end == "finish":
        assert await made.translation(KEYS[0]) == b"done"


async def test_calls_whose_replies_are_lost_are_repeated(redis: RedisClient) -> None:
    """The repetition has no further effect: one file, one attempt, one translation."""
    replies = iter([RedisConnectionError("lost"), None])

    async def loses_one(put: Callable[[], Awaitable[Any]]) -> None:
        await put()
        if (lost := next(replies)) is not None:
            raise lost

    await files(LossyRedis(redis, "evalsha", "eval")).keep(KEYS[0], KEPT, b"content")
    await files(AtTheQueue(redis, loses_one)).keep(KEYS[0], KEPT, b"content")
    assert next(replies, "none left") == "none left"
    assert await redis.zcard(QUEUE) == 1
    mine = await claimed(files(LossyRedis(redis, "evalsha", "eval")), "x")
    assert mine.attempt == 1
    await files(LossyRedis(redis, "evalsha", "eval")).release(mine, counts=False)
    again = await claimed(files(redis), "y")
    assert again.attempt == 1
    await files(LossyRedis(redis, "evalsha", "eval")).finish(again, b"done")
    assert await files(redis).translation(KEYS[0]) == b"done"


async def test_so_many_of_a_tenant(redis: RedisClient) -> None:
    """The limit is per tenant; files that have been fetched or have expired make room."""
    few, brief = (files(redis, most=1, ttl_seconds=seconds) for seconds in (60, 1))
    await few.keep(KEYS[0], KEPT, b"")
    await few.keep(KEYS[0], KEPT, b"")  # a repeated call
    with pytest.raises(TooManyFilesError):
        await few.keep(KEYS[1], KEPT, b"")
    await few.keep(KEYS[2], KEPT, b"")
    with pytest.raises(TooManyFilesError):
        await few.check_room(KEYS[1], 1)
    await few.check_room(KEYS[0], 1)  # kept already
    for _ in range(2):  # it may be read again
        await few.forget_soon(KEYS[0])
        await few.check_room(KEYS[1], 1)
    assert 0 < await redis.pttl(KEYS[0].names()[0]) <= 60_000  # not longer than the others
    await brief.keep(KEYS[1], KEPT, b"")
    await asyncio.sleep(1.1)
    with pytest.raises(FileUnknownError):
        await few.state(KEYS[1])
    await few.keep(KEYS[3], KEPT, b"")
    assert (await claimed(few, "x", KEYS[0], KEYS[2])).key == KEYS[3]


async def test_all_of_a_tenant(redis: RedisClient) -> None:
    """Fetched files come first, since they expire first; failed ones are listed too, but take no room."""
    made = files(redis, most=2, ttl_seconds=6000)
    for key in (KEYS[0], KEYS[2], KEYS[1]):
        await made.keep(key, KEPT, b"content")
        await asyncio.sleep(0.002)
    assert await made.all("nobody") == []
    assert [key for key, _ in await made.all("one")] == [KEYS[0], KEYS[1]]
    await made.fail(await claimed(made, "x"), "wrong")
    await made.keep(KEYS[3], KEPT, b"content")
    mine = await claimed(made, "y", KEYS[2])
    await made.finish(mine, b"done")
    await made.forget_soon(mine.key)
    found = [(key, state.status, state.problem) for key, state in await made.all("one")]
    assert found == [(KEYS[1], "done", ""), (KEYS[0], "error", "wrong"), (KEYS[3], "queued", "")]
    assert [state for _, state in await made.all("one")] == [await made.state(key) for key, _, _ in found]
    await made.delete(KEYS[3])
    await redis.delete(KEYS[0].names()[0])  # as if it had expired
    assert [key for key, _ in await made.all("one")] == [KEYS[1]]


async def test_of_very_many_the_last_are_listed(redis: RedisClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list has at most the number of files that a tenant may have, plus a number of others."""
    monkeypatch.setattr("service.store.files._MOST_OTHERS_LISTED", 1)
    made, mine = files(redis, most=2, ttl_seconds=6000), [FileKey("one", letter * 22) for letter in "dcba"]
    for number, key in enumerate(mine):
        await made.keep(key, KEPT, b"content")
        if number < 2:
            await made.fail(await claimed(made, "x"), "wrong")
        await asyncio.sleep(0.002)
    assert [key for key, _ in await made.all("one")] == mine[1:]


async def test_one_that_does_not_get_into_the_queue_is_soon_gone(redis: RedisClient) -> None:
    """If a replica dies before queueing a file, nobody would translate it, so it soon expires."""

    async def forgets(put: Callable[[], Awaitable[Any]]) -> None:
        del put
        await redis.delete(KEYS[2].names()[0])

    async def is_quick(put: Callable[[], Awaitable[Any]]) -> None:
        await put()
        made = files(redis)
        await made.fail(await claimed(made, "x"), "wrong")

    await files(AtTheQueue(redis, is_quick), most=1).keep(KEYS[3], KEPT, b"content")
    await files(redis, most=1).check_room(KEYS[0], 1)
    with pytest.raises(ZeroDivisionError):
        await files(AtTheQueue(redis, _dies), ttl_seconds=600).keep(KEYS[0], KEPT, b"content")
    with pytest.raises(StoreUnavailableError):
        await files(AtTheQueue(redis, forgets)).keep(KEYS[2], KEPT, b"content")
    assert not await redis.exists(KEYS[2].names()[0])
    assert 50_000 < await redis.pttl(KEYS[0].names()[0]) <= 60_000
    await files(redis, ttl_seconds=600).keep(KEYS[1], KEPT, b"content")
    assert 500_000 < await redis.pttl(KEYS[1].names()[0]) <= 600_000


async def test_a_redis_that_is_full_can_be_emptied(redis: RedisClient) -> None:
    """Files can still be claimed and finished, which frees more memory than it takes."""
    made = await kept(redis)
    await redis.config_set("maxmemory", 1)
    mine = await claimed(made, "x")
    assert await made.renew(mine, 1)
    await made.release(mine, counts=True)
    await made.finish(await claimed(made, "y"), b"done")
    assert await made.translation(KEYS[0]) == b"done"
    await made.forget_soon(KEYS[0])
    await made.delete(KEYS[0])


async def test_so_many_bytes_of_a_tenant(redis: RedisClient) -> None:
    """Fetched files count until they are gone; failed and deleted ones have no bytes."""
    small = files(redis, most_bytes=10)
    await small.keep(KEYS[0], KEPT, b"12345")
    with pytest.raises(TooManyFilesError, match="10 bytes"):
        await small.keep(KEYS[1], KEPT, b"123456")
    with pytest.raises(TooManyFilesError):
        await small.check_room(KEYS[1], 6)
    await small.keep(KEYS[1], KEPT, b"12345")
    await small.keep(KEYS[2], KEPT, b"1234567890")  # another tenant's
    await small.finish(await claimed(small, "x"), b"12345")
    await small.forget_soon(KEYS[0])
    with pytest.raises(TooManyFilesError):
        await small.check_room(KEYS[3], 1)
    await small.fail(await claimed(small, "y", KEYS[2]), "wrong")
    await small.check_room(KEYS[3], 5)
    await small.delete(KEYS[0])
    await small.check_room(KEYS[3], 10)


async def test_a_memory_takes_room_until_its_file_is_settled(redis: RedisClient) -> None:
    """It counts like content; of a file that is done or has failed, which may stay for long, none is left."""
    small = files(redis, most_bytes=20)
    for key in (KEYS[0], KEYS[1]):
        with pytest.raises(TooManyFilesError, match="20 bytes"):
            await small.keep(key, KEPT, b"content", "a memory of some length")
        await small.keep(key, KEPT, b"content", "mem")
    first, second = await claimed(small, "x"), await claimed(small, "y", KEYS[0])
    assert (first.content, first.memory) == (b"content", "mem")
    await small.fail(first, "wrong")
    await small.finish(second, b"done")
    for key in (KEYS[0], KEYS[1]):
        assert "mem" not in (await redis.hvals(key.names()[0]))


async def test_one_that_is_kept_again_stays_as_it_is(redis: RedisClient) -> None:
    """A repeated call that fails half-way does not shorten a file's life; a fetched file takes no room again."""
    made, name = files(redis, most=1, ttl_seconds=6000), KEYS[0].names()[0]
    await made.keep(KEYS[0], KEPT, b"content")
    with pytest.raises(ZeroDivisionError):
        await files(AtTheQueue(redis, _dies), ttl_seconds=6000).keep(KEYS[0], KEPT, b"other one")
    assert await redis.pttl(name) > 5_900_000
    await made.keep(KEYS[0], KEPT, b"yet another")
    assert await redis.hgetall(SIZES) == {KEYS[0].id: "7"}
    mine = await claimed(made, "x")
    assert mine.content == b"content"
    await made.finish(mine, b"done")
    await made.forget_soon(KEYS[0])
    await made.keep(KEYS[0], KEPT, b"content")
    assert await redis.pttl(name) <= 600_000
    await made.check_room(KEYS[1], 1)


async def test_one_that_is_kept_again_keeps_its_turn(redis: RedisClient) -> None:
    """A client that is unsure and sends a file again does not lose its place to files that came later."""
    made = await kept(redis, 2)
    await made.keep(KEYS[0], KEPT, b"\xffcontent")
    assert (await claimed(made, "x")).key == KEYS[0]


async def test_what_has_expired_is_not_counted(redis: RedisClient) -> None:
    """Nor is it counted exactly where that would take long: a tenant with 10,000 files has no room."""
    made = files(redis, ttl_seconds=6000)
    await made.keep(KEYS[0], KEPT, b"content")
    await made.forget_soon(KEYS[0])
    (seconds, _) = await redis.time()
    assert seconds < (await redis.zscore(FILES, KEYS[0].id) or 0) / 1000 <= seconds + 601
    await redis.zadd(FILES, {KEYS[0].id: 1})
    await made.check_room(KEYS[1], 1000)
    assert not await redis.exists(FILES, SIZES)
    await redis.hset(SIZES, mapping={str(number): -1 for number in range(10_000)})
    with pytest.raises(TooManyFilesError):
        await files(redis, most_bytes=100_000).check_room(KEYS[1], 1)


async def test_what_is_known_of_files_ends_with_them(redis: RedisClient) -> None:
    """All records expire, even of a tenant that has fetched its only file and sends no more."""
    made = await kept(redis)
    await made.finish(await claimed(made, "x"), b"done")
    await made.forget_soon(KEYS[0])
    left = {name: await redis.pttl(name) for name in await redis.keys()}
    del left[QUEUE]  # emptied by replicas
    assert {name for name, milliseconds in left.items() if milliseconds <= 0} == set()


@pytest.mark.parametrize("begun", [False, True])
async def test_one_that_is_sent_again_while_it_leaves_the_queue(redis: RedisClient, begun: bool) -> None:
    """A file sent again (by its idempotency key) just after its deletion is queued, even if somebody had begun it."""
    made = await kept(redis)
    await made.delete(KEYS[0])

    class Sends(LossyRedis):
        async def zrem(self, *args: object, **named: object) -> None:
            await made.keep(KEYS[0], KEPT, b"again")
            if begun:
                await claimed(files(redis, lease_seconds=0.001), "dies")
            await redis.zrem(*args, **named)  # type: ignore[arg-type]

    assert await files(Sends(redis)).claim("x") is None
    await asyncio.sleep(0.01)
    assert (await claimed(made, "y")).content == b"again"


async def test_what_a_later_release_says_more_is_not_guessed(redis: RedisClient) -> None:
    """A file with a field of a later release is claimed, but without a description: another replica may know it."""
    made = await kept(redis)
    (name, _) = KEYS[0].names()
    await redis.hset(name, "file", (await redis.hget(name, "file") or "")[:-1] + ',"style":"plain"}')
    assert (await claimed(made, "x")).file is None


async def test_one_that_is_deleted_is_gone_at_once(redis: RedisClient) -> None:
    """Deletion makes room, keeps others from beginning, and is noticed by who is translating; it may be repeated."""
    made = await kept(redis, 2)
    held = await claimed(made, "x")
    for key in [*KEYS[:2], KEYS[0]]:
        await made.delete(key)
        with pytest.raises(FileUnknownError):
            await made.state(key)
    assert not await made.renew(held, 1)
    await made.finish(held, b"late")
    assert await made.claim("y") is None
    assert await redis.keys() == []
