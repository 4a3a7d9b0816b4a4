"""Conversations, without a socket: clients that do not cooperate, deadlines, invalid messages."""

import asyncio
import json
from typing import cast

import pytest

from service.schemas.sentences import TranslatedSentence
from service.store.document import Answer, Appended, DocumentKey, Lease
from service.streams.conversation import MOST_INVALID, Conversation, GoneError
from service.streams.open_streams import EndingSoon, StreamLimits
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER
from service.use_cases.sessions import Placed, Sessions


class _Unread:
    """A client that keeps sending but takes no answers."""

    async def receive(self) -> str:
        return "no sentence"

    async def send(self, _message: str) -> None:
        await asyncio.Event().wait()


class _Scripted:
    """A client that sends given messages, records the answers, and leaves after as many answers as messages."""

    def __init__(self, *sent: dict[str, object]) -> None:
        self._to_send = [json.dumps(message) for message in sent]
        self._enough = len(sent)
        self.received: list[dict[str, object]] = []

    async def receive(self) -> str:
        if self._to_send:
            return self._to_send.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: str) -> None:
        self.received.append(json.loads(message))
        if len(self.received) == self._enough:
            raise GoneError


class _HangingStore:
    """Sessions whose Redis answers late for the sentence `slow`, and never for `hangs`.

    `asked` lists the sentences that came, and `given_up` those that nobody waits for any more.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.given_up: list[str] = []

    async def place(self, document: DocumentKey, text: str, *, position: int | None, least: int) -> Placed:
        self.asked.append(text)
        if text == "hangs":
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.append(text)
        if text == "slow":
            await asyncio.sleep(0.5)
        at = least if position is None else position
        appended = Appended(at, text, at + 1, Answer(text.upper(), None, 0))
        return Placed(document, appended, Lease("token", 1), None)

    async def answer(self, placed: Placed) -> TranslatedSentence:
        at, text = placed.appended.position, placed.appended.source
        return TranslatedSentence(
            position=at, source=text, translation=text.upper(), score=None, context_size=0, alternatives=[]
        )


class _Leaving:
    """A client that leaves as soon as its only sentence, which hangs, has reached the sessions."""

    def __init__(self, sessions: _HangingStore) -> None:
        self._sessions = sessions
        self._sent = False

    async def receive(self) -> str:
        if not self._sent:
            self._sent = True
            return json.dumps({"text": "hangs"})
        while not self._sessions.asked:
            await asyncio.sleep(0)
        raise GoneError

    async def send(self, _message: str) -> None:
        raise AssertionError


def _conversation(sessions: object, *, idle_seconds: float) -> Conversation:
    async def admit() -> None:
        pass

    return Conversation(
        DocumentKey("tenant", "session"),
        cast(Sessions, sessions),
        admit,
        Metrics(),
        NO_TRACER,
        request_id="id",
        next_position=0,
        limits=StreamLimits(in_flight=8, idle_seconds=idle_seconds),
    )


async def _told(store: _HangingStore, *sent: dict[str, object]) -> list[object]:
    """The error codes and translations that a client gets for messages that it sends all at once."""
    client = _Scripted(*sent)
    with pytest.raises(GoneError):
        async with asyncio.timeout(20):
            await _conversation(store, idle_seconds=10).run(client, EndingSoon())
    return [message.get("code", message.get("translation")) for message in client.received]


async def test_client_that_takes_no_answer_is_given_up() -> None:
    """A client may ignore an answer for as long as a stream may be idle; then it is gone, and delays no shutdown."""
    conversation = _conversation(None, idle_seconds=0.05)  # the messages are not sentences
    with pytest.raises(GoneError):
        async with asyncio.timeout(5):
            await conversation.run(_Unread(), EndingSoon())


async def test_client_that_leaves_has_nothing_under_way() -> None:
    """Its sentences are given up by the time its stream has ended."""
    store = _HangingStore()
    with pytest.raises(GoneError):
        await _conversation(store, idle_seconds=10).run(_Leaving(store), EndingSoon())
    assert store.given_up == ["hangs"]


async def test_deadline_holds_while_a_sentence_finds_its_place() -> None:
    """Deadlines apply to a sentence that hangs and to one waiting for it, which is not even tried.

    No later sentence takes their place unless it names its position.
    """
    store = _HangingStore()
    told = await _told(
        store,
        {"text": "hangs", "deadline_seconds": 1},
        {"text": "waits", "position": 1, "deadline_seconds": 0.1},
        {"text": "overtakes"},
        {"text": "first", "position": 0},
        {"text": "second"},
    )
    assert told == ["own_deadline_exceeded", "own_deadline_exceeded", "position_gap", "FIRST", "SECOND"]
    assert store.asked == ["hangs", "first", "second"]


async def test_sentence_whose_time_was_up_before_its_turn_is_overtaken_by_none() -> None:
    """This holds even though the sentence that it waited for was placed after all."""
    told = await _told(_HangingStore(), {"text": "slow"}, {"text": "waits", "deadline_seconds": 0.2}, {"text": "third"})
    assert told == ["SLOW", "own_deadline_exceeded", "position_gap"]


async def test_a_sentence_makes_up_for_invalid_messages() -> None:
    """Only a number of invalid messages in a row ends a stream."""
    invalid = [{"text": 1}] * (MOST_INVALID - 1)
    told = await _told(
        _HangingStore(), *invalid, {"text": "one", "position": 0}, *invalid, {"text": "two", "position": 1}
    )
    refused = ["invalid_message"] * (MOST_INVALID - 1)
    assert told == [*refused, "ONE", *refused, "TWO"]


async def test_what_follows_an_invalid_message_does_not_take_its_place() -> None:
    """It may have been meant as a sentence: the client sends it again with its position, and then what followed."""
    told = await _told(
        _HangingStore(),
        {"text": "one"},
        {"text": 2},
        {"text": "three"},
        {"text": "two", "position": 1},
        {"text": "three"},
    )
    assert told == ["ONE", "invalid_message", "position_gap", "TWO", "THREE"]
