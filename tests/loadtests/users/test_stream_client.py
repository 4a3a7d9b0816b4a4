import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import orjson
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from loadtests.users import stream_client
from loadtests.users.balancer import Balancer, GaveUpError
from loadtests.users.conversation import Conversation, ViolationError, Wrong
from loadtests.users.stream_client import StreamClient

DOCUMENT = ("a", "b", "c")
EXPECTED = (("A", 0), ("B", 0), ("C", 0))
Answer = Callable[[dict[str, Any]], dict[str, Any] | list[dict[str, Any]] | int]
"""What a service answers to a message: one answer, several, or the code with which it closes the stream."""


def translation(message: dict[str, Any]) -> dict[str, Any]:
    """The answer that a service should give."""
    text, position = message["text"], message["position"]
    return {"type": "translation", "position": position, "source": text, "translation": text.upper()} | {
        "score": -1.0,
        "context_size": 0,
    }


@contextmanager
def service(
    answers: list[Answer], next_positions: list[int], on_open: Callable[[ServerConnection], object] = lambda _: None
) -> Iterator[str]:
    """Serve one stream after another, answering each message with the next of `answers`; yields the address."""

    def converse(socket: ServerConnection) -> None:
        on_open(socket)
        socket.send(orjson.dumps({"type": "session", "next_position": next_positions.pop(0)}).decode())
        for message in socket:
            answer = answers.pop(0)(orjson.loads(message))
            if isinstance(answer, int):
                socket.close(answer)
                return
            for each in answer if isinstance(answer, list) else [answer]:
                socket.send(orjson.dumps(each).decode())

    with serve(converse, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def say(url: str, patience: float = 30, pace: float = 0, on_repeat: Callable[[], object] = lambda: None) -> list[str]:
    """Say all sentences, `pace` seconds apart; returns the reasons for which something had to be repeated."""
    repeated: list[str] = []

    def repeat(reason: str) -> None:
        repeated.append(reason)
        on_repeat()

    with httpx.Client() as http:
        rng = random.Random(1)
        balancer = Balancer(http, [url], rng, patience, repeat)
        conversation = Conversation("id", DOCUMENT, EXPECTED, lambda _: None)
        moments = [time.monotonic() + pace * position for position in range(len(DOCUMENT))]
        client = StreamClient(
            conversation, balancer, rng, moments, in_flight=1, mischief=0, on_mischief=lambda mischief: None
        )
        client.say_until(len(DOCUMENT))
    assert conversation.next_position == len(DOCUMENT)
    return repeated


def refusal(code: str, **members: Any) -> Answer:
    """An error in place of a translation."""
    return lambda _: (
        {"type": "error", "code": code, "status": 429, "retryable": True, "retry_after_seconds": 0} | members
    )


def test_stream_that_is_closed_is_resumed() -> None:
    """The next stream begins with the sentence that had no answer."""
    with service([translation, lambda _: 1012, translation, translation], [0, 1]) as url:
        assert say(url) == ["closed_1012"]


def test_sentence_that_is_refused_is_sent_again() -> None:
    """If trying again may help, it goes over the same stream; without patience, the client gives up."""
    with service([translation, refusal("queue_full"), translation, translation], [0]) as url:
        assert say(url) == ["queue_full"]
    with service([translation, refusal("queue_full")], [0]) as url, pytest.raises(GaveUpError):
        say(url, patience=0)


def test_sentence_without_answer_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes over another stream; the reason is not a lost connection, which an outage would explain."""
    release = threading.Event()

    def before_never(said: dict[str, Any]) -> dict[str, Any]:
        monkeypatch.setattr(stream_client, "ATTEMPT_SECONDS", 2)  # for this answer, too
        return translation(said)

    def never(said: dict[str, Any]) -> dict[str, Any]:
        release.wait(30)
        return translation(said)

    with service([before_never, never, translation, translation], [0, 1]) as url:
        assert say(url, on_repeat=monkeypatch.undo) == ["no_answer"]
        release.set()


@pytest.mark.parametrize(
    ("answers", "next_positions", "wrong"),
    [
        pytest.param([lambda _: 4404], [0], Wrong.REFUSED, id="session is gone"),
        pytest.param([refusal("position_expired", retryable=False)], [0], Wrong.REFUSED, id="refused for good"),
        pytest.param([translation, refusal("position_gap", next_position=0)], [0], Wrong.LOST, id="lost meanwhile"),
        pytest.param([translation, lambda _: 1012], [0, 0], Wrong.LOST, id="lost between two streams"),
        pytest.param([lambda said: translation(said | {"position": 1})], [0], Wrong.MISPLACED, id="out of order"),
    ],
)
def test_wrong_answer_is_a_violation(answers: list[Answer], next_positions: list[int], wrong: Wrong) -> None:
    """These are faults that no client could repair."""
    with service(answers, next_positions) as url, pytest.raises(ViolationError) as violation:
        say(url)
    assert violation.value.wrong is wrong


def test_answer_to_nothing_is_a_violation() -> None:
    """Here an answer comes twice while no other sentence is waiting for one."""
    twice: Answer = lambda said: [translation(said)] * 2  # noqa: E731
    with service([twice], [0]) as url, pytest.raises(ViolationError) as violation:
        say(url, pace=30)
    assert violation.value.wrong is Wrong.LOST


def test_pings_keep_no_sentence_waiting() -> None:
    """A sentence is sent when it is spoken, even while pings keep coming."""
    pings: list[int] = []
    heard: list[int] = []

    def ping(socket: ServerConnection) -> None:
        def go_on() -> None:
            with suppress(ConnectionClosed):
                while len(pings) < 100 and len(heard) < len(DOCUMENT):
                    socket.ping()
                    pings.append(len(heard))
                    time.sleep(0.05)

        threading.Thread(target=go_on).start()

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        heard.append(len(pings))
        return translation(message)

    with service([answer] * len(DOCUMENT), [0], ping) as url:
        assert say(url, pace=0.5) == []
    assert heard[-1] < 100
