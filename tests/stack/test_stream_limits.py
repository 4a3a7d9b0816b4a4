"""How streams are limited, and how they end: idleness, excess, or the end of the replica."""

import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from redis import Redis
from websockets.exceptions import ConnectionClosed, InvalidStatus

from service.store.document import DocumentKey
from tests.support.client import begin, measured, say
from tests.support.servers import RedisServer, Replica, Replicas, eventually
from tests.support.stand_in import expected
from tests.support.streams import Stream, connected, handshake_of, opened, read_all, refused

INTERNAL_ERROR = (1011).to_bytes(2, "big")
TOO_BIG = (1009).to_bytes(2, "big")
"""Close codes as they appear in a frame."""


@pytest.fixture(scope="module")
def narrow(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica with narrow limits."""
    return shared_replicas.new(
        redis_url=redis_server.url,
        stream_limit="2",
        stream_message_bytes="2056",
        max_sentence_characters="150",
        max_session_sentences="3",
    ).start()


@pytest.fixture(scope="module")
def hasty(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica whose streams may not be idle for long."""
    return shared_replicas.new(redis_url=redis_server.url, stream_idle_seconds="0.3").start()


@pytest.fixture
def session(ordinary: Replica) -> str:
    """A session, created at a replica without narrow limits."""
    with ordinary.client() as client:
        return begin(client)


@pytest.fixture(scope="module")
def ordinary(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica with the default limits."""
    return shared_replicas.new(redis_url=redis_server.url, session_lease_seconds="0.5").start()


def test_idle_stream_ends(hasty: Replica, session: str) -> None:
    """A stream ends when nothing has come for a while and nothing is in flight."""
    with opened(hasty.url, session) as stream:
        assert stream.closed() == (1001, "idle")


@contextmanager
def in_flight(replica: Replica, session: str, text: str) -> Iterator[Stream]:
    """A stream with a first sentence in flight; if a stream ends as idle before that arrives, another one is tried."""
    while True:
        with opened(replica.url, session) as stream:
            with suppress(ConnectionClosed):
                stream.send(text, 0)
            if _is_taken(replica, session, stream):
                yield stream
                return


def _is_taken(replica: Replica, session: str, stream: Stream) -> bool:
    """Wait for a first sentence to be appended or the stream to end; whether it was appended."""
    with replica.client() as client:

        def taken() -> bool:
            return bool(client.get(session).json()["next_position"])

        eventually(lambda: taken() or stream.socket.close_code is not None, "it is taken, or the stream has ended")
        return taken()


def test_stream_is_not_idle_while_a_sentence_is_in_flight(hasty: Replica, session: str, tmp_path: Path) -> None:
    """However long the translation takes, the sentence is answered before the stream ends."""
    gate = tmp_path / "gate"
    with in_flight(hasty, session, f"wait-for:{gate}") as stream:
        with opened(hasty.url, session) as other:
            assert other.closed() == (1001, "idle"), "more than once as long"
        gate.touch()
        assert stream.receive()["position"] == 0
        assert stream.closed() == (1001, "idle")


def test_message_that_is_too_big(narrow: Replica, session: str) -> None:
    """It ends the stream, and is not in the session when that is resumed."""
    with opened(narrow.url, session) as stream:
        stream.send("長" * 1000)
        assert stream.closed()[0] == 1009
    with opened(narrow.url, session) as stream:
        assert stream.greeting["next_position"] == 0


def test_message_that_is_still_being_sent(narrow: Replica, session: str) -> None:
    """Its client is told why; if the connection were closed at once, it would break before the client has read that."""
    many = 16 * 2**20
    with connected(narrow.url) as connection:
        connection.sendall(handshake_of(session))
        while b"next_position" not in connection.recv(4096):  # nothing may be sent before the handshake is answered
            pass
        connection.sendall(b"\x81\xff" + many.to_bytes(8, "big") + bytes(4 + many))
        assert TOO_BIG in read_all(connection)


def test_number_of_streams(narrow: Replica, session: str) -> None:
    """Beyond the limit a handshake is refused, until another stream has ended."""
    with narrow.client() as client:
        eventually(lambda: measured(client, "antecedent_streams_open 0.0"), "those of earlier tests have ended")
    with opened(narrow.url, session) as one, opened(narrow.url, session):
        refusal = refused(narrow.url, session)
        assert (refusal["status"], refusal["code"], refusal["retryable"]) == (503, "too_many_streams", True)
        one.abort()
        eventually(lambda: _opens(narrow, session), "one has ended")


def test_length_of_a_session(narrow: Replica, session: str) -> None:
    """A sentence too many gets an error in its turn; those before it are answered."""
    with opened(narrow.url, session) as stream:
        stream.send_all(list("一二三四"), 0)
        *answers, full = stream.receive_all(4)
    assert [answer["type"] for answer in answers] == ["translation"] * 3
    assert (full["code"], full["status"], full["position"], full["next_position"]) == ("session_full", 409, 3, 3)


def test_rate(replicas: Replicas, redis_server: RedisServer, session: str) -> None:
    """A sentence beyond the key's rate gets an error that says when to retry, and no later one takes its position."""
    replica = replicas.new(redis_url=redis_server.url, sentences_per_minute="2").start()
    with opened(replica.url, session) as stream:
        for text in "一二三四":
            stream.send(text)
        *answers, limited, behind = stream.receive_all(4)
        assert [answer["type"] for answer in answers] == ["translation"] * 2
        assert (limited["code"], limited["status"], limited["retryable"]) == ("rate_limited", 429, True)
        assert 1 <= limited["retry_after_seconds"] <= 60
        assert behind["code"] == "position_gap"


def test_rate_of_a_session(replicas: Replicas, redis_server: RedisServer, session: str) -> None:
    """A sentence that comes too soon gets an error that says when to retry, over the stream and REST alike."""
    replica = replicas.new(redis_url=redis_server.url, session_sentences_per_minute="2").start()
    with opened(replica.url, session) as stream, replica.client() as client:
        stream.send_all(list("一二三"), 0)
        *answers, limited = stream.receive_all(3)
        assert [answer["type"] for answer in answers] == ["translation"] * 2
        assert (limited["code"], limited["status"], limited["position"]) == ("session_rate_limited", 429, 2)
        refused = say(client, session, "三", 2)
        assert (refused.status_code, refused.json()["code"]) == (429, "session_rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert say(client, session, "二", 1).status_code == 200, "a retry is none too many"


def test_pings(replicas: Replicas, redis_server: RedisServer, session: str, tmp_path: Path) -> None:
    """A client that answers no pings is given up, but not one whose pong is queued behind sentences not yet read."""
    gate = tmp_path / "gate"
    texts = [f"wait-for:{gate}", *"一二三四"]
    replica = replicas.new(redis_url=redis_server.url, stream_ping_seconds="0.2", stream_in_flight="1").start()
    with opened(replica.url, session) as stream:
        stream.send_all(texts, 0)
        with connected(replica.url) as silent:
            silent.sendall(handshake_of(session))
            assert INTERNAL_ERROR in read_all(silent)
        gate.touch()
        assert [answer["position"] for answer in stream.receive_all(5)] == [0, 1, 2, 3, 4]


def test_client_that_leaves_no_room_for_a_close(replicas: Replicas, redis_server: RedisServer, session: str) -> None:
    """A client whose unread answer fills all buffers is given up as well, and occupies no place."""
    long = {"max_sentence_characters": "5000000", "stream_message_bytes": "60000256", "redis_total_seconds": "60"}
    replica = replicas.new(
        redis_url=redis_server.url, stream_idle_seconds="0.5", stream_ping_seconds="600", **long
    ).start()
    answered, none_open = 'antecedent_session_sentences_total{channel="stream"} 1.0', "antecedent_streams_open 0.0"
    message = b'{"text": "' + b"x" * 5_000_000 + b'"}'
    frame = b"\x81\xff" + len(message).to_bytes(8, "big") + bytes(4) + message  # masked by zeros
    with replica.client() as client, ExitStack() as silent_ones:
        while not measured(client, answered):  # the stream may end before its message has arrived
            silent = silent_ones.enter_context(connected(replica.url))
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.sendall(handshake_of(session))
            while b"next_position" not in silent.recv(4096):
                pass
            with suppress(OSError):
                silent.sendall(frame)
            eventually(lambda: measured(client, answered) or measured(client, none_open), "it is answered, or too late")
        eventually(lambda: measured(client, none_open), "the client is given up")


def test_told_to_end(replicas: Replicas, ordinary: Replica, redis_server: RedisServer, tmp_path: Path) -> None:
    """Sentences in flight are answered, the stream is closed with "resume", and the process ends with status 0."""
    gate, texts = tmp_path / "gate", ["一", f"wait-for:{tmp_path / 'gate'}", "二"]
    replica = replicas.new(redis_url=redis_server.url, log_level="warning").start()
    with ordinary.client() as client:
        session = begin(client)
        with opened(replica.url, session) as idle, opened(replica.url, session) as stream:
            stream.send_all(texts, 0)
            eventually(lambda: client.get(session).json()["next_position"] == 3, "they are in flight")
            replica.send(signal.SIGTERM)
            assert idle.closed() == (1012, "resume")
            eventually(lambda: not _accepts(replica), "it listens no more")
            stream.send("late", 3)
            gate.touch()
            answers = stream.receive_all(3)
            assert stream.closed() == (1012, "resume")
        assert [answer["position"] for answer in answers] == [0, 1, 2]
        assert replica.wait() == 0
        assert replica.log == ""
        with opened(ordinary.url, session) as stream:
            assert stream.greeting["next_position"] == 3


@pytest.mark.parametrize(
    ("fields", "status"),
    [(b"Cookie: a=" + b"a" * 9000 + b"\r\n", 431), (b"X: y\r\n" * 130, 431), (b"Content-Length: 1\r\n", 400)],
    ids=["long", "many", "body"],
)
def test_handshake_that_cannot_be_read(ordinary: Replica, session: str, fields: bytes, status: int) -> None:
    """It is refused and the connection closed, so that a client without a key cannot keep it open."""
    with connected(ordinary.url) as stranger:
        stranger.sendall(handshake_of(session).replace(b"\r\n\r\n", b"\r\n" + fields + b"\r\n"))
        assert read_all(stranger).startswith(f"HTTP/1.1 {status} ".encode())


def test_only_get_begins_a_stream(ordinary: Replica, session: str) -> None:
    """With another method it is an ordinary request, which the path does not support."""
    with connected(ordinary.url) as stranger:
        handshake = handshake_of(session).replace(b"Connection: Upgrade", b"Connection: close, Upgrade")
        stranger.sendall(handshake.replace(b"GET ", b"POST "))
        assert read_all(stranger).startswith(b"HTTP/1.1 405 ")


def test_told_to_end_while_a_sentence_never_does(
    replicas: Replicas, ordinary: Replica, redis_server: RedisServer, tmp_path: Path
) -> None:
    """After the grace period the sentence, and one that waits for it, get a retryable error; then the streams close."""
    gate = tmp_path / "gate"
    text = f"wait-for:{gate}"
    replica = replicas.new(redis_url=redis_server.url, drain_seconds="1", session_lease_seconds="60").start()
    with ordinary.client() as client:
        session = begin(client)
        with opened(replica.url, session) as stream, opened(replica.url, session) as second:
            stream.send(text, 0)
            eventually(lambda: client.get(session).json()["next_position"] == 1, "it is in flight")
            second.send(text, 0)
            _, entries, _ = DocumentKey("default", session.rpartition("/")[2]).names()
            with Redis.from_url(redis_server.url) as redis:
                eventually(lambda: redis.hexists(entries, "w0"), "the other one waits for it")
            replica.send(signal.SIGTERM)
            for waiting in (stream, second):
                given_up = waiting.receive()
                assert (given_up["code"], given_up["retryable"], given_up["position"]) == ("shutting_down", True, 0)
                assert waiting.closed() == (1012, "resume")
        assert replica.wait() == 0
        gate.touch()
        assert say(client, session, text, 0).json()["translation"] == expected(text)


def test_replica_killed(
    replicas: Replicas, ordinary: Replica, redis_server: RedisServer, session: str, tmp_path: Path
) -> None:
    """Sentences in flight at a killed replica are answered by another one, at the same positions."""
    gate = tmp_path / "gate"
    texts = ["一", f"wait-for:{gate}", "二", "三"]
    dying = replicas.new(redis_url=redis_server.url, session_lease_seconds="0.5").start()
    with ordinary.client() as client, opened(dying.url, session) as stream:
        stream.send(texts[0], 0)
        assert stream.receive()["position"] == 0
        stream.send_all(texts[1:], 1)
        eventually(lambda: client.get(session).json()["next_position"] == 4, "they are in flight")
        dying.end(signal.SIGKILL)
        assert stream.closed() == (1006, "")
    gate.touch()
    with opened(ordinary.url, session) as stream:
        assert stream.greeting["next_position"] == 4
        stream.send_all(texts[1:], 1)
        answers = stream.receive_all(3)
    assert [answer["translation"] for answer in answers] == [
        expected(texts[at], texts[max(0, at - 2) : at]) for at in (1, 2, 3)
    ]


def _opens(replica: Replica, session: str) -> bool:
    try:
        with opened(replica.url, session):
            return True
    except InvalidStatus:
        return False


def _accepts(replica: Replica) -> bool:
    try:
        with connected(replica.url):
            return True
    except ConnectionRefusedError:
        return False
