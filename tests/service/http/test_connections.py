"""How connections end, on a real server and real sockets."""

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import pytest
import uvicorn

from service.http import connections
from service.http.connections import HttpProtocol
from service.http.stream_protocol import StreamProtocol
from tests.support.servers import eventually, free_port

ANSWER = 30_000_000
"""Number of bytes in an answer; more than socket buffers can hold."""
LEFT: list[str] = []
"""Paths that clients have left before the answer was complete."""
SAID: ContextVar[str] = ContextVar("SAID", default="")
"""Stands for what is logged about the request that is being answered."""


def said() -> bytes:
    """What has been said about the request so far; adds something for the next call to find."""
    before = SAID.get()
    SAID.set(before + "more")
    return before.encode()


async def app(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """Answers GET at once with more than sockets can hold, and POST with its numbers of header fields and body bytes.

    At `/refuses` the answer does not wait for the body, and at `/parts` its length is unknown. At `/waits` there is no
    answer until the client leaves, and at `/begun` only the beginning of one. At `/said` the answer is that of `said`.
    """
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    if scope["path"] == "/begun":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b"the beginning", "more_body": True})
    if scope["path"] in ("/waits", "/begun"):
        while (await receive())["type"] != "http.disconnect":
            pass
        LEFT.append(scope["path"])
        return
    if scope["path"] == "/parts":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b"one", b"", b"two"):
            await send({"type": "http.response.body", "body": part, "more_body": part != b"two"})
        return
    body = {"/refuses": b"too much", "/said": said()}.get(scope["path"], bytes(ANSWER))
    if scope["method"] == "POST" and scope["path"] != "/refuses":
        read, more = 0, True
        while more:
            message = await receive()
            read, more = read + len(message["body"]), message["more_body"]
        body = f"{len(scope['headers'])},{read}".encode()
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def patience() -> float:
    """Seconds within which a client must read something."""
    return 0.3


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, patience: float) -> Iterator[uvicorn.Server]:
    """A server whose connections are closed soon after their last answer."""
    monkeypatch.setattr(connections, "STUCK_SECONDS", patience)
    config = uvicorn.Config(
        app,
        port=free_port(),
        http=cast(Any, partial(HttpProtocol, unread_seconds=patience)),
        ws=StreamProtocol,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=0,
        loop="uvloop",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, "it listens")
    yield server
    server.should_exit = server.force_exit = True
    thread.join(5)


def ask(server: uvicorn.Server, fields: bytes = b"") -> socket.socket:
    """Open a connection and request the long answer."""
    connection = socket.create_connection(("127.0.0.1", server.config.port))
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
    return connection


@pytest.mark.parametrize("fields", [b"", b"Connection: close\r\n"])
def test_who_reads_nothing_is_not_waited_for(server: uvicorn.Server, fields: bytes) -> None:
    """The connection is dropped, which frees the descriptor and the answer."""
    with ask(server, fields):
        eventually(lambda: server.server_state.total_requests > 0, "it is answered")
        eventually(lambda: not server.server_state.connections, "it is gone")


def test_who_reads_nothing_but_asks_again_is_not_waited_for(server: uvicorn.Server) -> None:
    """The same while further answers are due on the connection, which wait for the first one to be read."""
    with ask(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
        eventually(lambda: server.server_state.total_requests > 0, "it is answered")
        eventually(lambda: not server.server_state.connections, "it is gone")


@pytest.mark.parametrize("patience", [2.0])
def test_two_answers_that_are_read_slowly_both_come(server: uvicorn.Server, patience: float) -> None:
    """Answers wait as long as the client reads something; here it sends the second request before reading the first."""
    with ask(server) as connection:
        eventually(lambda: server.server_state.total_requests == 1, "it is answered")
        time.sleep(0.05)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got, began = 0, time.monotonic()
        while part := connection.recv(2_000_000):
            got += len(part)
            if time.monotonic() < began + 2 * patience:
                time.sleep(0.1)
    assert got > 2 * ANSWER


def answer_to(server: uvicorn.Server, *parts: bytes) -> bytes:
    """Send a request in parts and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.settimeout(10)
        try:
            for part in parts:
                connection.sendall(part)
        except OSError:
            pass  # refused before all parts were sent
        return connection.recv(1000).split(b"\r\n")[0]


BEGINNING = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        [b"GET /", *[b"a" * 1000] * 1000],
        [BEGINNING, b"X: ", *[b"a" * 1000] * 1000],
        [BEGINNING, *[b"X: a\r\n"] * 20_000],
        [BEGINNING + b"X: " + b"a" * 70_000 + b"\r\n\r\n"],
        [CHUNKED, b"1;", *[b"a" * 1000] * 1000],
        [CHUNKED, b"0\r\nX: ", *[b"a" * 1000] * 1000],
        [CHUNKED, b"0\r\n", *[b"X: a\r\n"] * 20_000],
    ],
    ids=["path", "value", "fields", "whole", "chunk", "trailer", "trailers"],
)
def test_what_has_no_end_and_is_no_body_is_refused(server: uvicorn.Server, endless: list[bytes]) -> None:
    """Nobody can fill the memory before the key is checked."""
    assert answer_to(server, *endless) == b"HTTP/1.1 400 Bad Request"


def test_trailers_are_no_header_fields(server: uvicorn.Server) -> None:
    """Trailers after the body are not kept, and do not count as header fields."""
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(CHUNKED + b"1\r\na\r\n0\r\nAuthorization: Bearer another\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.endswith(b"\r\n\r\n2,1")


@pytest.mark.parametrize(
    ("version", "path", "end"),
    [
        (b"1.0", b"/parts", b"\r\n\r\nonetwo"),
        (b"1.1", b"/parts", b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"),
        (b"1.0", b"/refuses", b"\r\n\r\ntoo much"),
    ],
)
def test_chunks_are_for_those_who_know_them(server: uvicorn.Server, version: bytes, path: bytes, end: bytes) -> None:
    """An HTTP/1.0 client would take chunk sizes for text, so an answer of unknown length ends with the connection."""
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(b"GET " + path + b" HTTP/" + version + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.endswith(end)
    assert (b"transfer-encoding" in answer) == (version == b"1.1")


@pytest.mark.parametrize(("requests", "status"), [(10, b"200 OK"), (10_000, b"400 Bad Request")])
def test_requests_that_wait_for_no_answer(server: uvicorn.Server, requests: int, status: bytes) -> None:
    """A few may be pipelined, but not many: each costs the server a hundred times what it costs to send."""
    assert answer_to(server, (BEGINNING + b"\r\n") * requests) == b"HTTP/1.1 " + status


def test_long_body_after_a_long_head_is_read(server: uvicorn.Server) -> None:
    """The connection's limit on the head does not apply to the body."""
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 50_000 + b"\r\nContent-Length: 900000\r\n\r\n"
    assert answer_to(server, head, *[bytes(100_000)] * 9) == b"HTTP/1.1 200 OK"


def test_long_body_in_chunks_is_read(server: uvicorn.Server) -> None:
    """The number of chunks is not limited."""
    chunks = [b"1000\r\n" + bytes(0x1000) + b"\r\n"] * 200
    assert answer_to(server, CHUNKED, *chunks, b"0\r\n\r\n") == b"HTTP/1.1 200 OK"


OFFER = b"Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
"""The header fields that Java's client and `curl --http2` send."""


@pytest.mark.parametrize(
    "request_", [b"Content-Length: 6\r\n\r\na body", b"Transfer-Encoding: chunked\r\n\r\n6\r\na body\r\n0\r\n\r\n"]
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_offer_of_another_protocol_is_declined_and_the_request_served(
    server: uvicorn.Server, request_: bytes, size: int
) -> None:
    """In whatever pieces it arrives, its body is read, and so are its header fields except those of the offer.

    What remains are Host, Connection and the length.
    """
    whole = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + OFFER + request_
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        for at in range(0, len(whole), size):
            connection.sendall(whole[at : at + size])
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"\r\n\r\n3,6")


def test_offer_after_a_request_without_an_answer(server: uvicorn.Server) -> None:
    """Both requests are answered, in order."""
    first = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab"
    second = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + OFFER + b"Content-Length: 3\r\n\r\nabc"
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(first + second)
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert [part[-3:] for part in answer.split(b"HTTP/1.1 200 OK")[1:]] == [b"2,2", b"3,3"]


HANDSHAKE = BEGINNING + (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@pytest.mark.parametrize("requests", [1, 3])
def test_handshake_before_an_earlier_answer_is_refused(server: uvicorn.Server, requests: int) -> None:
    """A stream must not take over a connection on which an answer is due; the request counts as left by its client."""
    LEFT.clear()
    waiting = b"GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n" * requests
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(waiting + HANDSHAKE)
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert answer.count(b"HTTP/1.1") == 1
    eventually(lambda: LEFT == ["/waits"], "the request was told")


def test_handshake_amid_an_answer_ends_it(server: uvicorn.Server) -> None:
    """The connection is closed; no other answer is sent in the middle of the first."""
    LEFT.clear()
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(b"GET /begun HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while not answer.endswith(b"the beginning"):
            answer += connection.recv(1000)
        connection.sendall(HANDSHAKE)
        assert connection.recv(1000) == b""
    eventually(lambda: LEFT == ["/begun"], "the request was told")


def test_handshake_after_an_answer_is_taken(server: uvicorn.Server) -> None:
    """A connection that has served a request may still become a stream."""
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    server.config.timeout_keep_alive = 60
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(request)
        answer = b""
        while not answer.endswith(b"2,0"):
            answer += connection.recv(1000)
        connection.sendall(HANDSHAKE)
        assert connection.recv(1000).startswith(b"HTTP/1.1 101 ")


def test_frame_that_comes_with_the_handshake_is_not_lost_without_a_word(server: uvicorn.Server) -> None:
    """The handshake is refused; otherwise the client would wait for ever for an answer to the frame."""
    frame = b"\x81\x82\x00\x00\x00\x00hi"
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.settimeout(10)
        connection.sendall(HANDSHAKE + frame)
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_what_is_said_of_a_request_is_not_said_of_the_next(server: uvicorn.Server) -> None:
    """The key and trace in the logs are a request's own, even if it begins while an earlier one is being answered."""
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.sendall(b"GET /said HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        answers = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answers.count(b"content-length: 0") == 3


@pytest.mark.parametrize(
    "fields",
    [
        b"Connection: Upgrade\r\nConnection: keep-alive\r\nUpgrade: websocket\r\n",
        b"Connection: keep-alive\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n",
        b"Connection: keep-alive, Upgrade \t\r\nUpgrade: websocket \t\r\n",
    ],
)
def test_handshake_however_its_fields_are_written(server: uvicorn.Server, fields: bytes) -> None:
    """Several lines of a field form one list, and trailing white space is not part of it."""
    handshake = HANDSHAKE.replace(b"Connection: Upgrade\r\nUpgrade: websocket\r\n", fields)
    assert answer_to(server, handshake) == b"HTTP/1.1 101 Switching Protocols"


def test_white_space_after_a_value_is_none_of_it(server: uvicorn.Server) -> None:
    """Otherwise a client that expects "100 Continue" would wait for ever."""
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue \t\r\nContent-Length: 2\r\n\r\n"
    assert answer_to(server, head) == b"HTTP/1.1 100 Continue"


@pytest.mark.parametrize(
    ("version", "hosts", "status"),
    [
        (b"1.1", 0, b"400 Bad Request"),
        (b"1.1", 1, b"200 OK"),
        (b"1.1", 2, b"400 Bad Request"),
        (b"1.0", 0, b"200 OK"),
        (b"1.0", 1, b"200 OK"),
        (b"1.0", 2, b"400 Bad Request"),
    ],
)
@pytest.mark.parametrize("offer", [b"", OFFER])
def test_request_names_one_host(
    server: uvicorn.Server, version: bytes, hosts: int, status: bytes, offer: bytes
) -> None:
    """With several, a proxy in front of the service might take a different one for the host."""
    head = b"POST / HTTP/" + version + b"\r\n" + b"Host: localhost\r\n" * hosts + offer + b"Content-Length: 0\r\n\r\n"
    assert answer_to(server, head) == b"HTTP/1.1 " + status


@pytest.mark.parametrize("hosts", [0, 2])
def test_handshake_names_one_host(server: uvicorn.Server, hosts: int) -> None:
    """A handshake is no exception."""
    handshake = HANDSHAKE.replace(b"Host: localhost\r\n", b"Host: localhost\r\n" * hosts)
    assert answer_to(server, handshake) == b"HTTP/1.1 400 Bad Request"


def test_connect_is_no_offer(server: uvicorn.Server) -> None:
    """CONNECT gets an answer, even if not the one that the client hopes for."""
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.settimeout(10)
        connection.sendall(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("whole", [True, False])
def test_who_is_refused_while_sending_can_read_why(
    server: uvicorn.Server, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    """Even on a closing connection, the rest of the body is read so that the client gets the answer; not for ever."""
    monkeypatch.setattr(connections, "LINGER_SECONDS", 60 if whole else 0.3)
    size = 20_000_000
    head = f"POST /refuses HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.config.port)) as connection:
        connection.settimeout(60)
        connection.sendall(head.encode())
        for _ in range(20 if whole else 1):
            connection.sendall(bytes(size // 20))
        answer = b""
        while chunk := connection.recv(1000):
            answer += chunk
        assert answer.endswith(b"too much")
        eventually(lambda: not server.server_state.connections, "it is gone")
