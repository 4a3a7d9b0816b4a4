"""The rules of a session, against a real Redis."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from service.errors import (
    PositionConflictError,
    PositionExpiredError,
    PositionGapError,
    SessionNotFoundError,
    StoreUnavailableError,
)
from service.store.commands import Commands
from service.store.connection import connect
from service.store.context_store import (
    KEPT_POSITIONS,
    Answer,
    Appended,
    ContextStore,
    DocumentKey,
    Lease,
    Session,
)
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer

LEASE = Lease("somebody", 60_000)
ANSWER = Answer("a translation", -0.123456789012345678, 2)


class Document:
    """One session, and the calls on it with less to write."""

    def __init__(self, store: ContextStore, key: DocumentKey) -> None:
        self.store = store
        self.key = key

    async def append(self, text: str, position: int | None = None, key: str | None = None, who: str = "") -> Appended:
        """Append with a lease."""
        lease = Lease(who or LEASE.token, LEASE.expires_ms)
        return await self.store.append(self.key, text, position=position, idempotency_key=key, lease=lease)

    async def finish(self, position: int, answer: Answer = ANSWER) -> Answer:
        """Store an answer."""
        return await self.store.finish(self.key, position, answer)

    async def grow(self, count: int) -> None:
        """Append and finish sentences that are called by their positions."""
        for _ in range(count):
            position = (await self.store.read(self.key)).next_position
            await self.append(f"sentence {position}")
            await self.finish(position)

    async def kept(self) -> list[int]:
        """Positions that are kept."""
        return [entry.position for entry in (await self.store.read(self.key)).entries]


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[ContextStore]:
    """A store on the Redis that all tests share."""
    client = connect(redis_server.url, 5)
    yield ContextStore(Commands(client, Metrics()))
    await client.aclose()


@pytest.fixture
async def document(store: ContextStore) -> Document:
    """A new session whose model reads two preceding sentences."""
    key = DocumentKey("tenant", uuid4().hex)
    await store.create(key, Session("model", "ja", "en", window=2, ttl_seconds=100))
    return Document(store, key)


async def test_window_is_what_precedes(document: Document) -> None:
    """Each sentence gets the sources before it, oldest first, and no more than the window."""
    windows = [(await document.append(text)).preceding for text in "abcd"]
    assert windows == [(), ("a",), ("a", "b"), ("b", "c")]


async def test_retry_gets_the_same_answer(document: Document) -> None:
    """The same position with the same text changes nothing and gives the stored answer, to the last digit."""
    first = await document.append("a", 0)
    assert first.answer is None
    await document.finish(0)
    again = await document.append("a", 0)
    assert again.answer == ANSWER
    assert again.next_position == 1


async def test_retry_of_an_unfinished_sentence_gets_its_window_again(document: Document) -> None:
    """A sentence whose translator died is handed out again, with the same preceding sentences."""
    await document.append("a")
    first = await document.append("b", 1)
    await document.append("c")
    again = await document.append("b", 1, who="another")
    assert (again.answer, again.preceding) == (None, first.preceding)
    assert again.lease.token == "another"


async def test_first_answer_wins(document: Document) -> None:
    """Two replicas that translate the same sentence give one answer."""
    await document.append("a")
    assert await document.finish(0, Answer("one", -1.0, 0)) == Answer("one", -1.0, 0)
    assert await document.finish(0, Answer("two", -2.0, 0)) == Answer("one", -1.0, 0)


async def test_another_text_is_a_conflict(document: Document) -> None:
    """A position that has a text keeps it; the error names the next position."""
    await document.append("a")
    with pytest.raises(PositionConflictError) as caught:
        await document.append("b", 0)
    assert caught.value.extras == {"next_position": 1}


async def test_gap_is_refused(document: Document) -> None:
    """No position may be left out; the error names the next one."""
    with pytest.raises(PositionGapError) as caught:
        await document.append("a", 1)
    assert caught.value.extras == {"next_position": 0}
    assert await document.kept() == []


async def test_idempotency_key_makes_appending_safe_to_repeat(document: Document) -> None:
    """The same key finds the same sentence, however many others have come since."""
    first = await document.append("a", key="k")
    await document.append("a")
    again = await document.append("a", key="k")
    assert (first.position, again.position, again.next_position) == (0, 0, 2)


async def test_idempotency_key_belongs_to_one_sentence(document: Document) -> None:
    """The same key with another text, or at another position, is a conflict."""
    await document.append("a", key="k")
    for text, position in (("b", None), ("a", 1)):
        with pytest.raises(PositionConflictError):
            await document.append(text, position, key="k")


async def test_finished_sentences_are_kept_for_a_while(document: Document) -> None:
    """A retry is answered until enough sentences have followed; then it is gone for good."""
    await document.grow(KEPT_POSITIONS)
    assert (await document.append("sentence 0", 0)).answer == ANSWER
    await document.grow(2)
    assert await document.kept() == list(range(2, KEPT_POSITIONS + 2))
    with pytest.raises(PositionExpiredError) as caught:
        await document.append("sentence 0", 0)
    assert caught.value.extras == {"next_position": KEPT_POSITIONS + 2}


async def test_wide_window_keeps_more(store: ContextStore) -> None:
    """Where the window is wider than what is kept for retries, the whole window is kept."""
    key = DocumentKey("tenant", uuid4().hex)
    await store.create(key, Session("model", "ja", "en", window=KEPT_POSITIONS + 8, ttl_seconds=100))
    document = Document(store, key)
    await document.grow(KEPT_POSITIONS + 10)
    assert len((await document.append("last")).preceding) == KEPT_POSITIONS + 8


async def test_unfinished_sentence_is_kept_with_its_window(document: Document) -> None:
    """However old it is, a sentence without an answer, and what it is read with, waits; then they go together."""
    await document.grow(2)
    stuck = await document.append("stuck")
    await document.grow(KEPT_POSITIONS + 5)
    assert (await document.kept())[:4] == [0, 1, 2, 8]
    again = await document.append("stuck", 2)
    assert again.preceding == stuck.preceding == ("sentence 0", "sentence 1")
    await document.finish(2)
    assert (await document.kept())[0] == 8


async def test_idempotency_key_outlives_its_sentence(document: Document) -> None:
    """A very late repetition is told so, and does not append the sentence a second time."""
    await document.append("a", key="k")
    await document.finish(0)
    await document.grow(KEPT_POSITIONS + 1)
    with pytest.raises(PositionExpiredError):
        await document.append("a", key="k")


async def test_withdrawn_sentence_leaves_no_trace(document: Document) -> None:
    """The last sentence can be taken back: its place and its idempotency key are free again."""
    await document.append("a")
    assert await document.store.withdraw(document.key, await document.append("b", key="k"))
    again = await document.append("c", key="k")
    assert (again.position, again.preceding) == (1, ("a",))


async def test_sentence_that_others_rely_on_is_not_withdrawn(document: Document) -> None:
    """Neither one that has a successor, nor one that a retry has taken up, nor one with an answer is taken back."""
    first = await document.append("a")
    last = await document.append("b")
    assert not await document.store.withdraw(document.key, first)
    taken_up = await document.append("b", 1, who="another")
    assert not await document.store.withdraw(document.key, last)
    await document.finish(1)
    assert not await document.store.withdraw(document.key, taken_up)
    assert await document.kept() == [0, 1]


async def test_unknown_session_is_never_made_anew(store: ContextStore) -> None:
    """No operation on a session that does not exist brings it into being."""
    document = Document(store, DocumentKey("tenant", uuid4().hex))
    for attempt in (document.append("a", 0), document.finish(0), store.read(document.key), store.delete(document.key)):
        with pytest.raises(SessionNotFoundError):
            await attempt
    with pytest.raises(SessionNotFoundError):
        await store.read(document.key)


async def test_deleted_session_is_gone_at_once(document: Document, redis_server: RedisServer) -> None:
    """After a deletion nothing of the document is in Redis, and what was in flight does not bring it back."""
    await document.append("a", key="k")
    await document.store.delete(document.key)
    with pytest.raises(SessionNotFoundError):
        await document.finish(0)
    async with connect(redis_server.url, 5) as client:
        assert await client.exists(*document.key.names()) == 0


async def test_every_call_sets_the_time_to_live_of_every_key_anew(
    document: Document, redis_server: RedisServer
) -> None:
    """All keys of a document live equally long, counted from the last call, whichever it was."""
    await document.append("a", key="k")
    calls = (
        lambda: document.append("a", 0),
        lambda: document.finish(0),
        lambda: document.store.read(document.key),
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
    """A Redis Cluster can run the scripts, because one hash tag is in all keys; another document has another."""
    slots = {name.split("{")[1].split("}")[0] for name in document.key.names()}
    assert slots == {f"tenant:{document.key.session_id}"}


async def test_documents_do_not_see_each_other(store: ContextStore) -> None:
    """The same id under another tenant is another document."""
    ours, theirs = DocumentKey("us", "same"), DocumentKey("them", "same")
    for key in (ours, theirs):
        await store.create(key, Session("model", "ja", "en", window=2, ttl_seconds=100))
    await Document(store, ours).append("secret")
    assert (await Document(store, theirs).append("a")).preceding == ()


async def test_concurrent_appends_get_different_positions(document: Document) -> None:
    """Sentences that arrive together each get a place, and each is read with those before it."""
    appended = await asyncio.gather(*(document.append(f"s{number}") for number in range(20)))
    texts = [entry.source for entry in (await document.store.read(document.key)).entries]
    assert sorted(found.position for found in appended) == list(range(20))
    for found in appended:
        assert found.preceding == tuple(texts[max(0, found.position - 2) : found.position])


async def test_state_holds_what_the_session_began_with(document: Document) -> None:
    """Reading gives languages, model and window back, and an unfinished sentence without an answer."""
    await document.append("a")
    state = await document.store.read(document.key)
    assert state.session == Session("model", "ja", "en", 2, 100)
    assert (state.next_position, state.entries[0].answer) == (1, None)


async def test_scripts_survive_a_restart_of_redis(mortal_redis: RedisServer) -> None:
    """A Redis that has been killed and started again has forgotten its scripts, and nothing of the session."""
    async with connect(mortal_redis.url, 5) as client:
        store = ContextStore(Commands(client, Metrics()))
        document = Document(store, DocumentKey("tenant", "id"))
        await store.create(document.key, Session("model", "ja", "en", window=2, ttl_seconds=100))
        await document.append("a")
        mortal_redis.kill()
        with pytest.raises(StoreUnavailableError):
            await document.append("b", 1)
        mortal_redis.start()
        assert (await document.append("b", 1)).preceding == ("a",)
