"""Callers who say for how long an answer is of use to them, with a real server and a model that waits on request."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from httpx_sse import EventSource
from websockets.sync.client import connect

from tests.support.client import PAIR, begin, measured
from tests.support.events import ACCEPT
from tests.support.servers import RedisServer, Replica, Replicas, eventually
from tests.support.stand_in import expected
from tests.support.streams import Stream

SOON = {"deadline_seconds": 0.3}
SOON_ENOUGH = (0.3, 3, 30)
"""Deadlines in seconds to try in turn: normally the first suffices, but this machine may be slow for a while."""


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica whose only worker does one sentence at a time."""
    return shared_replicas.new(redis_url=redis_server.url, batch_sentences="1").start()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A file for which a sentence may wait; made at the end of the test at the latest."""
    gate = tmp_path / "gate"
    yield gate
    gate.touch()


def test_document_whose_time_is_up(client: httpx.Client, gate: Path) -> None:
    """The answer is a 504, and none of its sentences waits any longer."""
    sentences = {"sentences": [f"wait-for:{gate}", "a", "b"]}
    late = client.post("/v1/documents", json=PAIR | sentences | SOON)
    assert (late.status_code, late.json()["code"], late.json()["retryable"]) == (504, "own_deadline_exceeded", True)
    assert measured(client, 'antecedent_sentences_waiting{priority="bulk"} 0.0')
    gate.touch()
    eventually(lambda: measured(client, "antecedent_sentences_running 0.0"), "nothing is translated any more")
    assert client.post("/v1/documents", json=PAIR | sentences | {"deadline_seconds": 60}).status_code == 200


def test_events_end_with_what_is_there(client: httpx.Client, gate: Path) -> None:
    """Sentences translated in time have been sent; an error takes the place of the rest."""
    for seconds in SOON_ENOUGH:
        waits = gate.with_name(f"gate-{seconds}")
        asked = PAIR | {"sentences": ["a", f"wait-for:{waits}", "b"], "deadline_seconds": seconds}
        answer = client.post("/v1/documents", json=asked, headers=ACCEPT)
        waits.touch()
        begun = answer.status_code == 200
        events = [(event.event, event.json()) for event in EventSource(answer).iter_sse()] if begun else []
        if len(events) > 1:  # otherwise the time was up before the first sentence
            break
    (first, sentence), (last, problem) = events
    assert (first, sentence["translation"]) == ("sentence", "A")
    assert (last, problem["code"], problem["status"]) == ("error", "own_deadline_exceeded", 504)


def test_sentence_of_a_session_is_given_back(client: httpx.Client, gate: Path) -> None:
    """Its position is free again, and the same sentence can be answered there."""
    session, text = begin(client), f"wait-for:{gate}"
    late = client.post(f"{session}/sentences", json={"text": text, "position": 0} | SOON)
    assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (504, "own_deadline_exceeded", "5")
    assert client.get(session).json()["next_position"] == 0
    gate.touch()
    assert client.post(f"{session}/sentences", json={"text": text, "position": 0}).status_code == 200


def test_sentence_of_a_stream_has_a_deadline_of_its_own(replica: Replica, client: httpx.Client, gate: Path) -> None:
    """A deadline does not apply to the other sentences of the stream."""
    for seconds in SOON_ENOUGH:
        waits, session = gate.with_name(f"gate-{seconds}"), begin(client)
        with connect(f"{replica.url.replace('http', 'ws', 1)}{session}/stream", proxy=None) as socket:
            stream = Stream(socket, {})
            stream.receive()
            socket.send(f'{{"text": "wait-for:{waits}", "position": 0, "deadline_seconds": {seconds}}}')
            stream.send("b", 1)
            late = stream.receive()
            waits.touch()
            other = stream.receive()
        assert (late["type"], late["code"], late["position"]) == ("error", "own_deadline_exceeded", 0)
        if other.get("code") != "position_gap":  # otherwise the time was up before the first sentence was placed
            break
    assert other["translation"] == expected("b", [f"wait-for:{waits}"])


@pytest.mark.parametrize("seconds", [0, 0.01, -1, True, "5", 2**40])
def test_deadline_that_is_none(client: httpx.Client, seconds: object) -> None:
    """It is refused, and the error names the field."""
    answer = client.post("/v1/documents", json=PAIR | {"text": "a", "deadline_seconds": seconds})
    assert answer.status_code == 422
    assert "deadline_seconds" in answer.text
