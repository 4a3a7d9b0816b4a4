"""Who translates a sentence of a session, who waits, and what happens to a sentence that is not translated."""

import asyncio
from collections.abc import AsyncIterator
from itertools import permutations

import pytest

from service.errors import PositionConflictError, SentenceFailedError
from service.store.commands import Commands
from service.store.connection import connect
from service.store.context_store import ContextStore
from service.store.document import Lease
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer
from tests.support.session_documents import ANSWER, Document, sources

TOKENS = ("7_-Qz", "K-9_x", "-a--b")
"""Tokens with all kinds of characters that the service's may contain, some of them special in Lua patterns."""


@pytest.fixture
async def document(redis_server: RedisServer) -> AsyncIterator[Document]:
    """A new session whose model reads two preceding sentences."""
    async with connect(redis_server.url, 5) as client:
        yield await Document.begin(ContextStore(Commands(client, Metrics()), 100))


async def test_lease_keeps_others_waiting(document: Document) -> None:
    """While one caller translates a sentence, another is told how long to wait."""
    first = await document.append("a", 0, who="one")
    for second in (await document.append("a", 0, who="other"), await document.claim(0, "other")):
        assert 0 < second.wait_seconds <= 60
    assert first.wait_seconds == (await document.append("a", 0, who="one")).wait_seconds == 0


async def test_lease_that_has_run_out_is_taken_over(document: Document) -> None:
    """A sentence left behind by a dead replica goes to exactly one of those who ask next."""
    await document.append("a", 0, who="dead", seconds=0)
    claims = await asyncio.gather(*(document.claim(0, f"{number}") for number in range(5)))
    assert sorted(claim.wait_seconds > 0 for claim in claims) == [False, True, True, True, True]


async def test_lease_of_a_clock_that_has_gone_back_is_taken_over(document: Document) -> None:
    """A dead replica's lease does not last longer because a new master's clock is behind the old one's."""
    await document.append("a", 0, who="dead", seconds=3600)
    assert (await document.claim(0, "other")).wait_seconds == 0


async def test_lease_is_renewed(document: Document) -> None:
    """A holder that claims its sentence again extends the lease."""
    await document.append("a", 0, who="one", seconds=0.05)
    await document.claim(0, "one")
    assert (await document.claim(0, "other")).wait_seconds > 1


async def test_answer_ends_the_waiting(document: Document) -> None:
    """Those who waited find the first caller's answer."""
    await document.append("a", 0, who="one")
    await document.finish(0)
    assert (await document.claim(0, "other")).answer == ANSWER


async def test_withdrawn_sentence_leaves_no_trace(document: Document) -> None:
    """If the last sentence is withdrawn, its position and its idempotency key are free again."""
    await document.append("a")
    await document.append("b", key="k", who="one")
    assert await document.withdraw(1, "one")
    other = await document.append("c")
    assert (other.position, sources(other)) == (1, ["a"])
    assert (await document.append("b", key="k")).position == 2


async def test_sentence_with_a_successor_stays(document: Document) -> None:
    """It cannot be taken out, but the next to ask for it need not wait."""
    await document.append("a", who="one")
    await document.append("b")
    assert not await document.withdraw(0, "one")
    assert (await document.claim(0, "other")).wait_seconds == 0


async def test_sentence_that_another_asks_for_stays(document: Document) -> None:
    """If the first attempt is given up while a retry waits, the retry still finds the sentence in its place."""
    await document.append("a", 0, who="one")
    await document.append("a", 0, who="retry")
    assert not await document.withdraw(0, "one")
    assert (await document.claim(0, "retry")).wait_seconds == 0
    assert await document.withdraw(0, "retry"), "nobody has asked since"


async def test_who_asks_again_and_again_asks_once(document: Document) -> None:
    """A waiting caller looks repeatedly but counts once; when it leaves too, nobody asks for the sentence any more."""
    await document.append("a", 0, who=TOKENS[0])
    await document.append("a", 0, who=TOKENS[1])
    await document.claim(0, TOKENS[1])
    assert not await document.withdraw(0, TOKENS[0])
    assert await document.withdraw(0, TOKENS[1])
    assert await document.kept() == []


async def test_lease_that_is_renewed_forgets_nobody_who_waits(document: Document) -> None:
    """If a caller renews its lease and later gives up the sentence, those who waited still count as asking for it."""
    await document.append("a", 0, who="one")
    await document.append("a", 0, who="retry")
    await document.claim(0, "one")
    assert not await document.withdraw(0, "one")
    assert (await document.claim(0, "retry")).wait_seconds == 0


async def test_lease_holds_for_who_has_shorter_ones(document: Document) -> None:
    """During the rollout of a setting, replicas may have different lease times; a longer lease is still respected."""
    await document.append("a", 0, who="one", seconds=60)
    assert (await document.append("a", 0, who="other", seconds=5)).wait_seconds > 5


@pytest.mark.parametrize("leaving", list(permutations(TOKENS)))
async def test_sentence_that_nobody_asks_for_any_more_goes(document: Document, leaving: tuple[str, ...]) -> None:
    """The translator and those who wait may leave in any order; the sentence goes when the last one does."""
    for who in TOKENS:
        await document.append("a", 0, who=who)
    assert [await document.withdraw(0, who) for who in leaving] == [False, False, True]
    assert await document.kept() == []


async def test_only_who_has_the_lease_gives_it_back(document: Document) -> None:
    """A sentence is not taken out by a caller whose lease was taken over, nor by one who withdraws after the answer."""
    await document.append("a", 0, who="slow", seconds=0)
    await document.claim(0, "other")
    assert not await document.withdraw(0, "slow")
    await document.finish(0)
    assert not await document.withdraw(0, "other")
    assert await document.kept() == [0]


async def test_last_sentences_are_taken_out_from_the_end(document: Document) -> None:
    """Giving several back from the last one leaves no gap; a sentence with an answer stays, and so do all before it."""
    for text in "abcd":
        await document.append(text, who=text)
    await document.finish(1)
    assert [await document.withdraw(at, "abcd"[at]) for at in (3, 2, 1, 0)] == [True, True, False, False]
    assert await document.kept() == [0, 1]


async def test_failed_sentence_is_nobodys_until_it_is_sent_again(document: Document) -> None:
    """Claiming it then fails; sending it again, or correcting it, makes it valid again."""
    await document.append("a", who="one")
    await document.append("b")
    await document.withdraw(0, "one", "invalid_request")
    with pytest.raises(SentenceFailedError) as failed:
        await document.claim(0, "other")
    assert failed.value.extras == {"failed_position": 0}
    assert (await document.append("a", 0, who="retry")).wait_seconds == 0
    assert (await document.claim(0, "other")).wait_seconds > 0
    await document.withdraw(0, "retry", "invalid_request")
    await document.correct(0, "corrected")
    assert (await document.claim(0, "other")).answer is not None


async def test_failed_sentence_is_not_sent_again_by_who_waits_for_it(document: Document) -> None:
    """All who wait get an error when they look again; only a new request makes it be tried again."""
    first = await document.append("a", 0, who="one")
    waiting = [Lease(who, 60) for who in ("two", "three")]
    for lease in waiting:
        assert (await document.append("a", 0, who=lease.token)).wait_seconds > 0
    await document.withdraw(0, "one", "worker_died")
    for lease in waiting:
        with pytest.raises(SentenceFailedError):
            await document.store.append(
                document.key, "a", position=first.position, idempotency_key=None, lease=lease, again=True
            )
        assert not await document.withdraw(0, lease.token)
    assert await document.kept() == [0]
    assert (await document.append("a", 0, who="four")).wait_seconds == 0


async def test_failed_sentence_that_kills_nobody_tells_everybody_why(document: Document) -> None:
    """Those who wait for a sentence that is, say, too long try it themselves, and so get the same error."""
    await document.append("a", 0, who="one")
    waiting = Lease("two", 60)
    await document.append("a", 0, who=waiting.token)
    await document.withdraw(0, "one", "sentence_too_long")
    again = await document.store.append(document.key, "a", position=0, idempotency_key=None, lease=waiting, again=True)
    assert again.wait_seconds == 0


async def test_failed_sentence_keeps_its_text(document: Document) -> None:
    """Once it has a successor, another text in its place would change the successor's context."""
    await document.append("a", who="one")
    await document.append("b")
    await document.withdraw(0, "one", "invalid_request")
    with pytest.raises(PositionConflictError):
        await document.append("other", 0)
