"""The rules of a session, against a real Redis."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import cast

import pytest
from redis.asyncio import Redis

from models.engine.requests import Alternative
from service.errors import (
    PositionConflictError,
    PositionExpiredError,
    PositionGapError,
    SentenceNotFoundError,
    SessionFullError,
    SessionNotFoundError,
    SessionRateLimitedError,
    StoreUnavailableError,
)
from service.store.commands import Commands
from service.store.connection import connect
from service.store.context_store import KEPT_POSITIONS, ContextStore
from service.store.document import Answer, DocumentKey, Session
from service.telemetry.metrics import Metrics
from tests.support.commands import until_served
from tests.support.lossy_redis import LossyRedis
from tests.support.servers import RedisServer
from tests.support.session_documents import ANSWER, Document, sources

MAX_SENTENCES = 100
ANOTHER = Session("other", "fingerprint", "ja", "en", window=5, ttl_seconds=7)
"""Differs from the session of `Document.begin` in model, window and time to live."""


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[ContextStore]:
    """A store on the Redis that all tests share."""
    client = connect(redis_server.url, 5)
    yield ContextStore(Commands(client, Metrics()), MAX_SENTENCES)
    await client.aclose()


@pytest.fixture
async def document(store: ContextStore) -> Document:
    """A new session whose model reads two preceding sentences."""
    return await Document.begin(store)


async def test_window_is_what_precedes(document: Document) -> None:
    """Each sentence comes with the sources before it, oldest first, up to the size of the window."""
    windows = [sources(await document.append(text)) for text in "abcd"]
    assert windows == [[], ["a"], ["a", "b"], ["b", "c"]]
    assert [entry.position for entry in (await document.append("e")).preceding] == [2, 3]


async def test_retry_gets_the_same_answer(document: Document) -> None:
    """Sending the same text at the same position changes nothing and gives the stored answer, to the last digit."""
    first = await document.append("a", 0)
    assert first.answer is None
    await document.finish(0)
    again = await document.append("a", 0)
    assert again.answer == ANSWER
    assert again.next_position == 1


async def test_alternatives_are_kept_with_the_answer(document: Document) -> None:
    """They are kept in order, and to the last digit."""
    answer = replace(ANSWER, alternatives=(Alternative("another", -0.2), Alternative("a third", -0.1)))
    await document.append("a", 0)
    assert await document.finish(0, answer) == answer
    assert (await document.append("a", 0)).answer == answer


async def test_retry_of_an_unfinished_sentence_gets_its_window_again(document: Document) -> None:
    """A sentence whose translating process died is handed out again, with the same preceding sentences."""
    await document.append("a")
    first = await document.append("b", 1, seconds=0)
    await document.append("c")
    again = await document.append("b", 1)
    assert (again.answer, again.wait_seconds) == (None, 0)
    assert sources(again) == sources(first) == ["a"]


async def test_preceding_sentences_come_with_their_translations(document: Document) -> None:
    """A model that reads translations gets those that exist, including corrections."""
    await document.grow(2)
    await document.append("unfinished")
    assert [entry.answer for entry in (await document.append("a")).preceding] == [ANSWER, None]
    await document.correct(2, "corrected")
    assert [entry.answer for entry in (await document.append("b")).preceding] == [Answer("corrected", None, 0), None]


async def test_first_answer_wins(document: Document) -> None:
    """If two replicas translate the same sentence, both give the first answer."""
    await document.append("a")
    assert await document.finish(0, Answer("one", -1.0, 0)) == Answer("one", -1.0, 0)
    assert await document.finish(0, Answer("two", -2.0, 0)) == Answer("one", -1.0, 0)


async def test_late_answer_is_not_that_of_another_sentence(document: Document) -> None:
    """An answer to a sentence that has since been withdrawn, or lost by Redis, is not taken for its successor's."""
    await document.append("a", who="first")
    await document.withdraw(0, "first")
    await document.append("b")
    with pytest.raises(PositionConflictError):
        await document.store.finish(document.key, 0, "a", Answer("one", -1.0, 0))
    assert await document.finish(0, Answer("two", -2.0, 0)) == Answer("two", -2.0, 0)


async def test_place_of_a_sentence_that_was_taken_out_is_kept_for_it(document: Document) -> None:
    """A successor states its least position, so it cannot take that place; sent again, it keeps its own position."""
    await document.append("a", who="first")
    await document.withdraw(0, "first")
    with pytest.raises(PositionGapError) as caught:
        await document.append("b", who="second", least=1)
    assert caught.value.extras == {"next_position": 0}
    assert (await document.append("a", 0)).position == 0
    for _ in range(2):
        assert (await document.append("b", who="second", least=1)).position == 1


async def test_another_text_is_a_conflict(document: Document) -> None:
    """A position keeps its text; the error gives the next free position."""
    await document.append("a")
    with pytest.raises(PositionConflictError) as caught:
        await document.append("b", 0)
    assert caught.value.extras == {"next_position": 1}


async def test_gap_is_refused(document: Document) -> None:
    """No position may be skipped; the error gives the next one."""
    with pytest.raises(PositionGapError) as caught:
        await document.append("a", 1)
    assert caught.value.extras == {"next_position": 0}
    assert await document.kept() == []


async def test_idempotency_key_makes_appending_safe_to_repeat(document: Document) -> None:
    """The same key finds the same sentence, even if others have come since."""
    first = await document.append("a", key="k")
    await document.append("a")
    again = await document.append("a", key="k")
    assert (first.position, again.position, again.next_position) == (0, 0, 2)


async def test_idempotency_key_belongs_to_one_sentence(document: Document) -> None:
    """Using the same key with another text, or for another position, is a conflict."""
    await document.append("a", key="k")
    for text, position in (("b", None), ("a", 1)):
        with pytest.raises(PositionConflictError):
            await document.append(text, position, key="k")


async def test_finished_sentences_are_kept_for_a_while(document: Document) -> None:
    """A sentence can be retried until enough others have followed; then it is gone for good."""
    await document.grow(KEPT_POSITIONS)
    assert (await document.append("sentence 0", 0)).answer == ANSWER
    await document.grow(2)
    assert await document.kept() == list(range(2, KEPT_POSITIONS + 2))
    with pytest.raises(PositionExpiredError) as caught:
        await document.append("sentence 0", 0)
    assert caught.value.extras == {"next_position": KEPT_POSITIONS + 2}


async def test_wide_window_keeps_more(store: ContextStore) -> None:
    """If the window is wider than what is kept for retries, the whole window is kept."""
    document = await Document.begin(store, window=KEPT_POSITIONS + 8)
    await document.grow(KEPT_POSITIONS + 10)
    assert len((await document.append("last")).preceding) == KEPT_POSITIONS + 8


async def test_unfinished_sentence_is_kept_with_its_window(document: Document) -> None:
    """A sentence without an answer is kept with its window, however old; once answered, they go together."""
    await document.grow(2)
    stuck = await document.append("stuck", seconds=0)
    await document.grow(KEPT_POSITIONS + 5)
    assert (await document.kept())[:4] == [0, 1, 2, 8]
    again = await document.append("stuck", 2)
    assert sources(again) == sources(stuck) == ["sentence 0", "sentence 1"]
    await document.finish(2)
    assert (await document.kept())[0] == 8


async def test_sentences_that_will_never_have_an_answer_do_not_pile_up(
    document: Document, redis_server: RedisServer
) -> None:
    """Failed sentences are kept for retries, with their windows, as long as answered ones; older ones go completely."""
    for number in range(KEPT_POSITIONS):
        await document.append("too long", who=f"call {number}")
        await document.append("waits behind it", who="another")
        await document.withdraw(2 * number, f"call {number}", "sentence_too_long")
        await document.finish(2 * number + 1)
    assert await document.kept() == list(range(KEPT_POSITIONS - 2, 2 * KEPT_POSITIONS))
    async with connect(redis_server.url, 5) as client:
        _, entries, keys = document.key.names()
        assert not {"f0", "k0", "s0", "l0"} & set(await client.hkeys(entries))
        assert len(await client.hkeys(keys)) == KEPT_POSITIONS // 2 + 1


async def test_sentence_that_fails_when_it_is_old_already(document: Document) -> None:
    """It is forgotten at once, along with what was kept only for it."""
    await document.grow(2)
    await document.append("stuck", who="slow")
    await document.grow(KEPT_POSITIONS + 5)
    await document.withdraw(2, "slow", "sentence_too_long")
    assert (await document.kept())[0] == 8


async def test_failed_sentence_without_its_window_cannot_be_retried(document: Document) -> None:
    """It may still be kept, for the sake of a later unanswered sentence, when its own window has been forgotten."""
    await document.grow(2)
    await document.append("too long", who="call")
    await document.append("left alone", who="another")
    await document.withdraw(2, "call", "sentence_too_long")
    await document.grow(KEPT_POSITIONS + 5)
    assert (await document.kept())[:3] == [1, 2, 3]
    with pytest.raises(PositionExpiredError):
        await document.append("too long", 2)
    again = await document.append("left alone", 3, who="another")
    assert len(sources(again)) == 2


async def test_idempotency_key_outlives_its_sentence(document: Document, redis_server: RedisServer) -> None:
    """A very late repetition gets an error instead of appending the sentence a second time."""
    await document.append("a", key="k")
    await document.finish(0)
    await document.grow(KEPT_POSITIONS + 1)
    with pytest.raises(PositionExpiredError):
        await document.append("a", key="k")
    async with connect(redis_server.url, 5) as client:
        assert not {"s0", "a0", "k0"} & set(await client.hkeys(document.key.names()[1]))


async def test_unknown_session_is_never_made_anew(store: ContextStore) -> None:
    """No operation on a session that does not exist creates it."""
    document = Document(store, DocumentKey("tenant", "never begun"))
    for attempt in (
        document.append("a", 0),
        document.claim(0, "somebody"),
        document.finish(0),
        document.correct(0, "a"),
        store.read(document.key),
        store.delete(document.key),
    ):
        with pytest.raises(SessionNotFoundError):
            await attempt
    assert not await document.withdraw(0, "somebody")
    with pytest.raises(SessionNotFoundError):
        await store.read(document.key)


async def test_deletion_whose_reply_is_lost_is_one(document: Document, redis_server: RedisServer) -> None:
    """The deletion is sent again; finding nothing then means that the first one succeeded."""
    client = connect(redis_server.url, 5)
    lossy = LossyRedis(client, "delete")
    await ContextStore(Commands(cast(Redis, lossy), Metrics()), 100).delete(document.key)
    assert lossy.lost
    with pytest.raises(SessionNotFoundError):
        await document.store.delete(document.key)
    await client.aclose()


async def test_deleted_session_is_gone_at_once(document: Document, redis_server: RedisServer) -> None:
    """After a deletion nothing of the document is in Redis, and operations in flight do not bring it back."""
    await document.append("a", key="k", who="somebody")
    await document.append("b", who="somebody")
    await document.store.delete(document.key)
    for attempt in (document.finish(0), document.correct(0, "a"), document.claim(1, "somebody")):
        with pytest.raises(SessionNotFoundError):
            await attempt
    assert not await document.withdraw(1, "somebody", "invalid_request")
    async with connect(redis_server.url, 5) as client:
        assert await client.exists(*document.key.names()) == 0


async def test_session_that_was_evicted_leaves_nothing_to_its_successor(
    document: Document, redis_server: RedisServer
) -> None:
    """An evicting Redis may drop the session but keep its sentences; the session, created again, starts empty."""
    await document.append("a", key="k")
    await document.finish(0)
    async with connect(redis_server.url, 5) as client:
        await client.delete(document.key.names()[0])
    with pytest.raises(SessionNotFoundError):
        await document.append("b", 0)
    await document.store.create(document.key, ANOTHER)
    assert await document.kept() == []
    anew = await document.append("b", 0, key="k")
    assert (anew.source, anew.answer, anew.wait_seconds) == ("b", None, 0)


async def test_session_without_its_sentences_is_none(document: Document, redis_server: RedisServer) -> None:
    """If its sentences were evicted, a session is unknown and is removed, rather than going on without context."""
    await document.grow(3)
    async with connect(redis_server.url, 5) as client:
        await client.delete(document.key.names()[1])
        with pytest.raises(SessionNotFoundError):
            await document.append("next", 3)
        assert await client.exists(*document.key.names()) == 0


async def test_every_call_sets_the_time_to_live_of_every_key_anew(
    document: Document, redis_server: RedisServer
) -> None:
    """All keys of a document expire together, counted from the last call of any kind."""
    await document.append("a", key="k")
    calls = (
        lambda: document.append("a", 0),
        lambda: document.claim(0, "somebody"),
        lambda: document.finish(0),
        lambda: document.correct(0, "corrected"),
        lambda: document.store.read(document.key),
        lambda: document.store.create(document.key, ANOTHER),
        lambda: document.append("b", key="other"),
    )
    async with connect(redis_server.url, 5) as client:
        assert all([await client.ttl(name) > 50 for name in document.key.names()]), "from the first call on"
        for call in calls:
            for name in document.key.names():
                await client.expire(name, 50)
            await call()
            assert all([await client.ttl(name) > 50 for name in document.key.names()])


async def test_keys_of_a_document_share_a_slot(document: Document) -> None:
    """All keys have the document's hash tag, so that a Redis Cluster can run the scripts."""
    slots = {name.split("{")[1].split("}")[0] for name in document.key.names()}
    assert slots == {f"tenant:{document.key.session_id}"}


async def test_documents_do_not_see_each_other(store: ContextStore) -> None:
    """The same id under another tenant is another document."""
    ours, theirs = DocumentKey("us", "same"), DocumentKey("them", "same")
    for key in (ours, theirs):
        await store.create(key, Session("model", "fingerprint", "ja", "en", window=2, ttl_seconds=100))
    await Document(store, ours).append("secret")
    assert sources(await Document(store, theirs).append("a")) == []


async def test_session_that_is_there_stays_as_it_is(document: Document) -> None:
    """Creating a session again, as after a lost answer, leaves it and its sentences as they are."""
    await document.append("a")
    state = await document.store.create(document.key, ANOTHER)
    assert (state.session.model, state.session.ttl_seconds, state.next_position) == ("model", 100, 1)
    assert await document.kept() == [0]


async def test_concurrent_appends_get_different_positions(document: Document) -> None:
    """Sentences that arrive together each get their own position, and the right preceding sentences."""
    appended = await asyncio.gather(*(document.append(f"s{number}") for number in range(20)))
    texts = [entry.source for entry in (await document.store.read(document.key)).entries]
    assert sorted(found.position for found in appended) == list(range(20))
    for found in appended:
        assert sources(found) == texts[max(0, found.position - 2) : found.position]


async def test_same_call_again_appends_nothing(document: Document) -> None:
    """A call that is repeated after a lost reply finds what it had appended, whatever has come since."""
    first = await document.append("a", who="somebody")
    await document.append("a")
    again = await document.append("a", who="somebody")
    assert (first.position, again.position, again.next_position) == (0, 0, 2)


async def test_correction_overwrites(document: Document) -> None:
    """A correction replaces any answer, has no score, and is not replaced by later answers."""
    await document.append("a")
    await document.finish(0)
    entry = await document.correct(0, "corrected")
    assert (entry.source, entry.answer) == ("a", Answer("corrected", None, 0))
    assert await document.finish(0) == Answer("corrected", None, 0)
    assert (await document.correct(0, "again")).answer == (await document.append("a", 0)).answer


async def test_correction_of_an_unfinished_sentence_finishes_it(document: Document) -> None:
    """The correction counts as the answer, even for the caller that is still translating."""
    await document.append("a", key="k")
    await document.correct(0, "corrected")
    assert (await document.finish(0)).translation == "corrected"
    await document.grow(KEPT_POSITIONS + 1)
    assert 0 not in await document.kept()


async def test_only_what_is_kept_is_corrected(document: Document) -> None:
    """Neither a future position nor one that is no longer kept can be corrected."""
    await document.grow(KEPT_POSITIONS + 1)
    with pytest.raises(SentenceNotFoundError) as to_come:
        await document.correct(KEPT_POSITIONS + 1, "corrected")
    assert to_come.value.extras == {"next_position": KEPT_POSITIONS + 1}
    with pytest.raises(PositionExpiredError):
        await document.correct(0, "corrected")


async def test_session_has_a_last_sentence(redis_server: RedisServer) -> None:
    """Exactly as many sentences as allowed are accepted, even if more come at once; retries still work."""
    async with connect(redis_server.url, 5) as client:
        document = await Document.begin(ContextStore(Commands(client, Metrics()), 5))
        outcomes = await asyncio.gather(*(document.append("a") for _ in range(8)), return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, SessionFullError)]
        assert len(refused) == 3
        assert await document.kept() == [0, 1, 2, 3, 4]
        assert (await document.append("a", 4, seconds=0)).position == 4


async def test_session_has_a_pace(redis_server: RedisServer) -> None:
    """A minute's worth of sentences may come at once, then one per share of the minute; retries cost nothing."""
    async with connect(redis_server.url, 5) as client:
        document = await Document.begin(ContextStore(Commands(client, Metrics()), MAX_SENTENCES, per_minute=3))
        began = time.monotonic()
        for text in "abc":
            await document.append(text)
        assert (await document.append("c", 2, seconds=0)).position == 2
        with pytest.raises(SessionRateLimitedError) as refused:
            await document.append("d")
        assert 20 - (time.monotonic() - began) <= refused.value.retry_after <= 20
        assert await document.kept() == [0, 1, 2]
        await client.hincrbyfloat(document.key.names()[0], "paced", 3_600_000)  # as if the clock went back by an hour
        assert (await document.append("d")).position == 3


async def test_sentence_that_is_taken_out_counts_no_more(redis_server: RedisServer) -> None:
    """A client that leaves before the answers and then sends the sentences again pays for each only once."""
    async with connect(redis_server.url, 5) as client:
        document = await Document.begin(ContextStore(Commands(client, Metrics()), MAX_SENTENCES, per_minute=3))
        await document.append("a")
        for _ in range(4):
            for text in "bc":
                await document.append(text, who=text)
            for position, token in ((2, "c"), (1, "b"), (1, "b")):  # the last repeats another, to no effect
                await document.withdraw(position, token)
        for text in "bc":
            await document.append(text)
        with pytest.raises(SessionRateLimitedError):
            await document.append("d")


async def test_finished_document_keeps_texts_only(document: Document, redis_server: RedisServer) -> None:
    """Nothing remains about how sentences got their answers, except for the clients' idempotency keys."""
    await document.append("a", key="k")
    await document.append("b", who="somebody")
    await document.append("c")
    await document.append("b", 1)
    await document.withdraw(1, "somebody", "invalid_request")
    for position in range(3):
        await document.finish(position)
    async with connect(redis_server.url, 5) as client:
        _, entries, keys = document.key.names()
        assert sorted(await client.hkeys(entries)) == ["a0", "a1", "a2", "k0", "s0", "s1", "s2"]
        assert len(await client.hkeys(keys)) == 1


async def test_state_holds_what_the_session_began_with(document: Document) -> None:
    """Reading gives the languages, model and window, and unfinished sentences without an answer."""
    await document.append("a")
    state = await document.store.read(document.key)
    assert state.session == Session("model", "fingerprint", "ja", "en", 2, 100)
    assert (state.next_position, state.entries[0].answer) == (1, None)


async def test_session_of_an_earlier_release_goes_on(document: Document, redis_server: RedisServer) -> None:
    """It has no glossary, memory or alternatives; new answers are stored so that the earlier release can read them."""
    session, entries, _ = document.key.names()
    async with connect(redis_server.url, 5) as client:
        await client.hdel(session, "glossary", "memory", "beam_size", "alternatives")
        await document.append("a")
        await client.hset(entries, "a0", '{"translation":"A","score":-0.5,"context_size":0}')
        await document.append("b")
        await document.finish(1)
        assert "alternatives" not in str(await client.hget(entries, "a1"))
    first, _ = (appended := await document.append("c")).preceding
    assert first.answer == Answer("A", -0.5, 0)
    assert appended.session == Session("model", "fingerprint", "ja", "en", 2, 100)
    assert (await document.store.read(document.key)).session == appended.session


async def test_scripts_survive_a_restart_of_redis(mortal_redis: RedisServer) -> None:
    """A Redis that was killed and restarted has forgotten its scripts but nothing of the session."""
    async with connect(mortal_redis.url, 5) as client:
        commands = Commands(client, Metrics())
        document = await Document.begin(ContextStore(commands, MAX_SENTENCES))
        await document.append("a")
        mortal_redis.kill()
        with pytest.raises(StoreUnavailableError):
            await document.append("b", 1)
        mortal_redis.start()
        await until_served(commands)
        assert sources(await document.append("b", 1)) == ["a"]
        await commands.aclose()
