"""Malformed frames on a stream: the server stays up, logs nothing about them, and its memory does not grow."""

import json
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from service.http.stream_protocol import MOST_FRAGMENTS
from tests.support.client import begin, measured
from tests.support.servers import RedisServer, Replica, Replicas, eventually
from tests.support.streams import connected, handshake_of, opened, read_all

CONNECTIONS, FRAMES = 1000, 10
"""The last frame on a connection ends it."""
WARM_UP = 200
MOST_GROWTH_KIB = 8 * 1024
UPGRADE = b"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica that logs only warnings and errors."""
    little = {"stream_message_bytes": "4096", "max_sentence_characters": "300"}
    return shared_replicas.new(redis_url=redis_server.url, log_level="warning", **little).start()


@pytest.fixture
def session(replica: Replica) -> Iterator[str]:
    """A session, which must still exist and be empty afterwards."""
    with replica.client() as client:
        path = begin(client)
        yield path
        assert client.get(path).json()["sentences"] == []
        eventually(lambda: measured(client, "antecedent_streams_open 0.0"), "every stream has ended")
    assert replica.log == ""


def test_malformed_frames(replica: Replica, session: str) -> None:
    """The server reads ten thousand frames of every kind; another stream goes on, and memory stays flat."""
    chooser = random.Random(1)
    attack(replica.url, session, chooser, WARM_UP)  # for one-time allocations
    before = resident_kib(replica.pid)
    with opened(replica.url, session) as stream:
        attack(replica.url, session, chooser, CONNECTIONS)
        stream.send("refuse", 0)
        assert stream.receive()["code"] == "invalid_request"
    assert resident_kib(replica.pid) - before < MOST_GROWTH_KIB


@pytest.mark.parametrize(
    "handshake",
    [
        UPGRADE,
        UPGRADE + b"Sec-WebSocket-Version: 99\r\n",
        UPGRADE + b"X: " + b"x" * 9000 + b"\r\n",
        UPGRADE + b"X: x\r\n" * 200,
        UPGRADE.replace(b"GET", b"POST"),
        b"GET {path} HTTP/1.1\r\nHost: localhost\r\n",
    ],
    ids=["no key", "version", "long field", "many fields", "method", "no upgrade"],
)
def test_malformed_handshakes(replica: Replica, session: str, handshake: bytes) -> None:
    """None of them opens a stream."""
    with connected(replica.url) as connection:
        connection.sendall(handshake.replace(b"{path}", f"{session}/stream".encode()) + b"\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_frames_before_the_handshake_is_answered(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """Such a client gets no stream, and leaves nothing in the log, whatever the frames are."""
    replica = replicas.new(redis_url=mortal_redis.url, log_level="warning").start()
    with replica.client() as client, ExitStack() as stack:
        session = begin(client)
        mortal_redis.pause()
        connections = [stack.enter_context(connected(replica.url)) for _ in range(3)]
        for connection in connections:
            connection.sendall(handshake_of(session))
        eventually(lambda: measured(client, "antecedent_streams_open 3.0"), "the handshakes wait for Redis")
        for connection, early in zip(
            connections, (frame(0x1, b"x", masked=False), frame(0x1, b"\xff"), b""), strict=True
        ):
            connection.sendall(early)
            connection.shutdown(socket.SHUT_WR)
            assert not read_all(connection).startswith(b"HTTP/1.1 101")
        mortal_redis.resume()
        eventually(lambda: measured(client, "antecedent_streams_open 0.0"), "it is over")
    logged = [json.loads(line) for line in replica.log.splitlines()]
    assert {line["event"] for line in logged} <= {"redis_failed", "redis_away", "redis_back"}


def test_message_in_fragments_without_end(replica: Replica, session: str) -> None:
    """Empty fragments never exceed a limit on bytes, so their number is limited, too."""
    with connected(replica.url) as connection:
        connection.sendall(handshake_of(session))
        read_until(connection, b"next_position", 1)
        connection.sendall(frame(0x1, b"", first_bits=0) + frame(0x0, b"", first_bits=0) * MOST_FRAGMENTS)
        assert read_all(connection).endswith((1009).to_bytes(2, "big"))


@pytest.mark.parametrize("message", ["fragments", "not UTF-8"])
def test_goodbye_right_after_what_is_refused(replica: Replica, session: str, message: str) -> None:
    """If the client's own close comes in the same segment, it is echoed."""
    with connected(replica.url) as connection:
        connection.sendall(handshake_of(session))
        read_until(connection, b"next_position", 1)
        many = frame(0x1, b"", first_bits=0) + frame(0x0, b"", first_bits=0) * MOST_FRAGMENTS + frame(0x0, b"")
        refused = many if message == "fragments" else frame(0x1, b"\xff")
        connection.sendall(refused + frame(0x8, (1001).to_bytes(2, "big")))
        assert read_all(connection).endswith((1001).to_bytes(2, "big"))


def test_message_in_fragments(replica: Replica, session: str) -> None:
    """A reasonable number of fragments is accepted."""
    with opened(replica.url, session) as stream:
        stream.socket.send([*'{"text": "refuse"}', *[""] * 500])
        assert stream.receive()["code"] == "invalid_request"


def test_pings_whose_answers_nobody_reads(replica: Replica, session: str) -> None:
    """The connection ends before the answers to the pings fill the memory."""
    with connected(replica.url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(handshake_of(session))
        with pytest.raises(ConnectionError):
            connection.sendall(frame(0x9, b"p" * 125) * 500_000)


def attack(url: str, session: str, chooser: random.Random, connections: int) -> None:
    """Open connections one after the other; send each some malformed frames, and finally a fatal one."""
    for _ in range(connections):
        with connected(url) as connection:
            connection.sendall(handshake_of(session))
            read_until(connection, b"next_position", 1)
            connection.sendall(b"".join(malformed(chooser) for _ in range(FRAMES - 1)))
            read_until(connection, b"invalid_message", FRAMES - 1)
            connection.sendall(fatal(chooser))
            connection.shutdown(socket.SHUT_WR)
            read_all(connection)


def malformed(chooser: random.Random) -> bytes:
    """A valid frame whose content is not a sentence."""
    invalid = [b'{"text": 1}', b'{"text": "\\ud800"}', b"[" * 1000, b'{"text": "a", "position": 99999999999999999999}']
    text = chooser.choice([*invalid, bytes(chooser.choices(range(128), k=chooser.randrange(300)))])
    return chooser.choice([frame(0x1, text), frame(0x2, chooser.randbytes(chooser.randrange(300)))])


def fatal(chooser: random.Random) -> bytes:
    """A frame that is wrong in length, mask, flags, opcode, order or encoding."""
    payload = chooser.randbytes(chooser.randrange(300))
    return chooser.choice(
        [
            b"\x81\xff" + (2**63 - 1).to_bytes(8, "big") + payload,
            frame(0x1, "長".encode() * 2000),
            frame(0x1, payload, masked=False),
            frame(0x1, payload, first_bits=chooser.randrange(9, 16)),
            frame(chooser.choice([0x3, 0x7, 0xB, 0xF]), payload),
            frame(0x0, payload),
            frame(0x1, b"a", first_bits=0) + frame(0x1, b"b"),
            frame(0x8, b"x"),
            frame(0x8, (999).to_bytes(2, "big")),
            frame(0x9, b"x" * 126),
            frame(0x1, b"\xff" + payload),
            b"\x81",
        ]
    )


def frame(opcode: int, payload: bytes, *, first_bits: int = 8, masked: bool = True) -> bytes:
    """A frame, whose mask, if any, is zeros; the default first bits, 8, mark a whole message."""
    length, mask_bit = len(payload), 0x80 if masked else 0
    head = bytes([first_bits << 4 | opcode])
    if length < 126:
        head += bytes([mask_bit | length])
    else:
        head += bytes([mask_bit | 126]) + length.to_bytes(2, "big")
    return head + (bytes(4) if masked else b"") + payload


def read_until(connection: socket.socket, part: bytes, times: int) -> None:
    """Read until something has occurred that often."""
    received = b""
    while received.count(part) < times:
        more = connection.recv(4096)
        assert more, "the server has closed the connection"
        received += more


def resident_kib(pid: int) -> int:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])
