"""Streams from end to end: order, retries, resumption and refusals, with the `websockets` client."""

import re
import threading
import time
from pathlib import Path

import httpx
import pytest
from redis import Redis

from service.store.document import DocumentKey
from tests.support.client import SENTENCES, begin, check_document, measured, say
from tests.support.servers import RedisServer, Replica, Replicas, eventually
from tests.support.stand_in import expected
from tests.support.streams import opened, refused

IN_FLIGHT = 8


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica that takes eight sentences of a stream at a time."""
    return shared_replicas.new(redis_url=redis_server.url, stream_in_flight=str(IN_FLIGHT)).start()


def test_answers_come_in_order(replica: Replica, client: httpx.Client) -> None:
    """However many sentences are sent at once, their answers come in order and are those of an undisturbed run."""
    session = begin(client)
    texts = [f"文{number}" for number in range(100)]
    with opened(replica.url, session) as stream:
        assert stream.greeting == {
            "type": "session",
            "session_id": session.rpartition("/")[2],
            "model": "stand-in",
            "window": 2,
            "next_position": 0,
        }
        stream.send_all(texts, 0)
        answers = stream.receive_all(len(texts))
    for at, answer in enumerate(answers):
        said = expected(texts[at], texts[max(0, at - 2) : at])
        assert (answer["type"], answer["position"], answer["translation"]) == ("translation", at, said)


def test_stream_and_requests_share_a_session(replica: Replica, client: httpx.Client) -> None:
    """Each continues from what the other has appended, with the same answers."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        for at, text in enumerate(SENTENCES):
            if at % 2:
                say(client, session, text)
            else:
                stream.send(text)
                answer = stream.receive()
                assert say(client, session, text, at).json() | {"type": "translation"} == answer
    check_document(client, session)


def test_answers_have_the_alternatives_of_the_session(replica: Replica, client: httpx.Client) -> None:
    """The session's number of alternatives applies to its streams."""
    session = begin(client, alternatives=1)
    with opened(replica.url, session) as stream:
        stream.send("一", 0)
        (other,) = stream.receive()["alternatives"]
    assert other["translation"] == f"{expected('一')} 2"


def test_sentence_sent_twice(replica: Replica, client: httpx.Client) -> None:
    """Each repetition of a text at the same position gets the same answer, and it is appended only once."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        for text, position in (("一", 0), ("一", 0), ("二", 1), ("一", 0), ("二", 1)):
            stream.send(text, position)
        first, again, second, third, last = stream.receive_all(5)
        assert first == again == third
        assert second == last
    assert client.get(session).json()["next_position"] == 2


def test_conflict_and_gap(replica: Replica, client: httpx.Client) -> None:
    """Both errors come in order, with the next position, and the stream goes on."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        for text, position in (("一", 0), ("二", 0), ("三", 2), ("四", 1)):
            stream.send(text, position)
        _, conflict, gap, answer = stream.receive_all(4)
    assert (conflict["type"], conflict["code"], conflict["position"]) == ("error", "position_conflict", 0)
    assert (gap["type"], gap["code"], gap["position"]) == ("error", "position_gap", 2)
    assert (conflict["status"], conflict["next_position"], gap["next_position"]) == (409, 1, 1)
    assert (answer["position"], answer["source"]) == (1, "四")


def test_sentence_without_position_overtakes_none(replica: Replica, client: httpx.Client) -> None:
    """After a sentence that was not placed, those without a position are refused until one states its position."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        stream.send("一")
        stream.send("長" * 1001)
        stream.send("三")
        stream.send("二", 1)
        stream.send("三")
        first, too_long, behind, second, third = stream.receive_all(5)
    assert (first["position"], too_long["code"], behind["code"]) == (0, "sentence_too_long", "position_gap")
    assert behind["next_position"] == 1
    assert [(second["position"], second["source"]), (third["position"], third["source"])] == [(1, "二"), (2, "三")]


def test_sentence_without_position_does_not_take_the_place_of_one_that_failed(
    replica: Replica, client: httpx.Client
) -> None:
    """The position of a withdrawn sentence is kept for it."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        stream.send("一")
        stream.send("refuse")
        _, refusal = stream.receive_all(2)
        stream.send("三")
        stream.send("四")
        behind, further = stream.receive_all(2)
        stream.send("二", 1)
        stream.send("三")
        second, third = stream.receive_all(2)
    assert (refusal["position"], behind["code"], further["code"]) == (1, "position_gap", "position_gap")
    assert behind["next_position"] == further["next_position"] == 1
    assert [(second["position"], second["source"]), (third["position"], third["source"])] == [(1, "二"), (2, "三")]


def test_retry_of_an_earlier_sentence_frees_no_place(replica: Replica, client: httpx.Client) -> None:
    """A sentence without a position still may not take the failed one's, even after a retry of an earlier one."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        for text in ("一", "二", "refuse"):
            stream.send(text)
        stream.receive_all(3)
        stream.send("一", 0)
        stream.send("四")
        retried, behind = stream.receive_all(2)
    assert (retried["position"], retried["source"]) == (0, "一")
    assert (behind["code"], behind["next_position"]) == ("position_gap", 2)


def test_stream_goes_on_where_a_document_has_lost_its_end(
    replica: Replica, client: httpx.Client, redis_server: RedisServer
) -> None:
    """If Redis loses its last writes, no sentence takes a lost one's position until one states its position."""
    session = begin(client)
    with opened(replica.url, session) as stream, Redis.from_url(redis_server.url, decode_responses=True) as redis:
        for text in ("一", "二", "三"):
            stream.send(text)
        stream.receive_all(3)
        of_session, entries, _ = DocumentKey("default", session.rpartition("/")[2]).names()
        redis.hset(of_session, "next", 1)
        redis.hdel(entries, *(f"{field}{position}" for field in "sak" for position in (1, 2)))
        stream.send("四")
        lost = stream.receive()
        stream.send("二", 1)
        stream.send("三")
        second, third = stream.receive_all(2)
    assert (lost["code"], lost["next_position"]) == ("position_gap", 1)
    assert [(second["position"], second["source"]), (third["position"], third["source"])] == [(1, "二"), (2, "三")]


def test_invalid_messages(replica: Replica, client: httpx.Client) -> None:
    """Each gets an error in its turn and the stream goes on, unless too many come in a row."""
    session = begin(client)
    invalid: list[str | bytes] = ["", "{", "[]", '{"text": 1}', '{"text": "a", "more": 1}', b'{"text": "a"}', b"\xff"]
    with opened(replica.url, session) as stream:
        for message in invalid:
            stream.socket.send(message)
        stream.send("一", 0)
        *errors, answer = stream.receive_all(len(invalid) + 1)
        assert {(error["type"], error["code"], error["status"]) for error in errors} == {
            ("error", "invalid_message", 422)
        }
        assert answer["translation"] == "一"
        for _ in range(16):
            stream.socket.send("{")
        assert stream.closed() == (1008, "too many invalid messages")
    assert client.get(session).json()["next_position"] == 1


def test_refused_sentence_is_told_in_its_place(replica: Replica, client: httpx.Client) -> None:
    """A sentence that the model refuses takes no position if it is the last; the others are answered."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        stream.send("一", 0)
        stream.send("refuse", 1)
        first, refusal = stream.receive_all(2)
        assert (first["position"], refusal["code"], refusal["position"]) == (0, "invalid_request", 1)
        stream.send("二", 1)
        assert (stream.receive())["translation"] == expected("二", ["一"])


@pytest.mark.parametrize("session_id", ["A" * 22, "x"])
def test_stream_of_no_session(replica: Replica, session_id: str) -> None:
    """The handshake is refused with the same problem as a request."""
    refusal = refused(replica.url, f"/v1/sessions/{session_id}")
    assert (refusal["status"], refusal["code"]) == (404, "session_not_found")


@pytest.mark.parametrize("path", ["/v1/session/x", "/v1/documents", "/"])
def test_stream_where_there_is_none(replica: Replica, path: str) -> None:
    """The handshake is refused with the same problem as a request, not as if a key were wrong."""
    refusal = refused(replica.url, path)
    assert (refusal["status"], refusal["code"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_request_for_a_stream_is_told_to_upgrade(client: httpx.Client, method: str) -> None:
    """A proxy may, for example, have dropped the handshake's header fields; the connection stays usable."""
    path = f"{begin(client)}/stream"
    for _ in range(2):
        answer = client.request(method, path)
        assert answer.status_code == 426
        assert (answer.headers["upgrade"], answer.headers["connection"]) == ("websocket", "Upgrade")
    if method == "GET":
        assert answer.json()["code"] == "upgrade_required"
        assert "ws://" in answer.json()["detail"]


def test_session_deleted_under_a_stream(replica: Replica, client: httpx.Client) -> None:
    """The next sentence gets an error, and the stream ends."""
    session = begin(client)
    with opened(replica.url, session) as stream:
        stream.send("一")
        stream.receive()
        client.delete(session)
        stream.send("二")
        assert (stream.receive())["code"] == "session_not_found"
        assert stream.closed() == (4404, "session not found")


def test_subprotocol(replica: Replica, client: httpx.Client) -> None:
    """A browser cannot set headers, so it offers the protocol's name along with its key; only the name is selected."""
    session = begin(client)
    with opened(replica.url, session, subprotocols=["antecedent.key.any", "antecedent.v1"]) as stream:
        assert stream.socket.subprotocol == "antecedent.v1"


def test_resumption(replica: Replica, client: httpx.Client) -> None:
    """After a broken connection a client resends what was not answered, and gets every answer that it missed."""
    session = begin(client)
    texts = [f"文{number}" for number in range(30)]
    with opened(replica.url, session) as stream:
        stream.send_all(texts[:20], 0)
        received = stream.receive_all(7)
        stream.abort()
    with opened(replica.url, session) as stream:
        assert stream.greeting["next_position"] >= 7
        stream.send_all(texts[7:], 7)
        received += stream.receive_all(23)
    assert [answer["position"] for answer in received] == list(range(30))
    assert [answer["translation"] for answer in received] == [
        expected(text, texts[max(0, at - 2) : at]) for at, text in enumerate(texts)
    ]


def test_client_that_leaves(replica: Replica, client: httpx.Client, tmp_path: Path) -> None:
    """Its unanswered sentences leave the queue and the session."""
    session, gate = begin(client), tmp_path / "gate"
    with opened(replica.url, session) as stream:
        stream.send("一", 0)
        stream.receive()
        stream.send_all([f"wait-for:{gate}", "二", "三"], 1)
        eventually(lambda: client.get(session).json()["next_position"] == 4, "they are appended")
        stream.abort()
    eventually(lambda: client.get(session).json()["next_position"] == 1, "they are given back")
    assert measured(client, 'antecedent_sentences_waiting{priority="interactive"} 0.0')
    gate.touch()
    assert say(client, session, "別", 1).json()["translation"] == expected("別", ["一"])


def test_client_that_sends_too_much(replica: Replica, client: httpx.Client, tmp_path: Path) -> None:
    """Sentences beyond the number that may be in flight are read later, and nothing is lost."""
    session, gate = begin(client), tmp_path / "gate"
    texts = [f"wait-for:{gate}", *(f"文{number}" for number in range(40))]
    with opened(replica.url, session) as stream:
        stream.send_all(texts, 0)
        eventually(lambda: client.get(session).json()["next_position"] == IN_FLIGHT, "as many as may be are appended")
        time.sleep(0.1)
        assert client.get(session).json()["next_position"] == IN_FLIGHT
        gate.touch()
        answers = stream.receive_all(len(texts))
    assert [answer["source"] for answer in answers] == texts


def test_client_that_reads_nothing(replica: Replica, client: httpx.Client) -> None:
    """Its answers wait while others are served."""
    session, other = begin(client), begin(client)
    with opened(replica.url, session, max_queue=1) as stream, opened(replica.url, other) as quick:
        texts = ["長" * 1000] * 200
        sending = threading.Thread(target=stream.send_all, args=(texts, 0))
        sending.start()
        quick.send("一")
        assert (quick.receive())["translation"] == "一"
        answers = stream.receive_all(len(texts))
        sending.join()
    assert [answer["position"] for answer in answers] == list(range(200))


def test_open_streams_are_counted(replica: Replica, client: httpx.Client) -> None:
    """A gauge counts open streams, and a counter the sentences that came over streams."""
    eventually(lambda: measured(client, "antecedent_streams_open 0.0"), "none is open")
    before = _sentences_of_streams(client)
    with opened(replica.url, begin(client)) as stream:
        assert measured(client, "antecedent_streams_open 1.0")
        stream.send_all(["一", "二"], 0)
        stream.receive_all(2)
        eventually(lambda: _sentences_of_streams(client) == [each + 2 for each in before], "both are counted")
    eventually(lambda: measured(client, "antecedent_streams_open 0.0"), "none is open")


def _sentences_of_streams(client: httpx.Client) -> list[float]:
    """The numbers of sentences that came over streams, and of those whose time was measured."""
    told = client.get("/metrics").text
    names = (r'session_sentences_total\{channel="stream"\}', "stream_sentence_seconds_count")
    found = [re.search(rf"^antecedent_{name} (\S+)$", told, re.MULTILINE) for name in names]
    return [float(each[1]) if each else 0 for each in found]
