"""A client of a session's stream; also raw connections, for clients that misbehave."""

import base64
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import orjson
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect


class Stream:
    """An open stream; `greeting` is the server's first message."""

    def __init__(self, socket: ClientConnection, greeting: dict[str, Any]) -> None:
        self.socket = socket
        self.greeting = greeting

    def send(self, text: str, position: int | None = None) -> None:
        """Send a sentence."""
        message: dict[str, Any] = {"text": text} if position is None else {"text": text, "position": position}
        self.socket.send(orjson.dumps(message).decode())

    def send_all(self, texts: list[str], first: int) -> None:
        """Send sentences with their positions, without waiting for an answer."""
        for position, text in enumerate(texts, first):
            self.send(text, position)

    def receive(self) -> dict[str, Any]:
        """Wait for the next message."""
        message: dict[str, Any] = orjson.loads(self.socket.recv())
        return message

    def receive_all(self, count: int) -> list[dict[str, Any]]:
        """Wait for this many messages."""
        return [self.receive() for _ in range(count)]

    def abort(self) -> None:
        """Drop the connection without a close frame."""
        self.socket.close_socket()

    def closed(self) -> tuple[int, str]:
        """Wait until the server closes the stream, ignoring messages before; returns its close code and reason."""
        try:
            while True:
                self.socket.recv()
        except ConnectionClosed as closed:
            return (1006, "") if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)


@contextmanager
def opened(url: str, session: str, **options: Any) -> Iterator[Stream]:
    """Open the stream of a session (a path) at the replica with that URL; `options` are passed to `websockets`."""
    with connect(f"{url.replace('http', 'ws', 1)}{session}/stream", proxy=None, **options) as socket:
        yield Stream(socket, orjson.loads(socket.recv()))


def refused(url: str, session: str) -> dict[str, Any]:
    """Try to open a stream; returns the problem with which the handshake is refused."""
    with pytest.raises(InvalidStatus) as refusal, opened(url, session):
        pass
    response = refusal.value.response
    problem: dict[str, Any] = orjson.loads(response.body or b"")
    assert (response.status_code, response.headers["content-type"]) == (problem["status"], "application/problem+json")
    return problem


def handshake_of(session: str) -> bytes:
    """A well-formed WebSocket handshake for a session's stream."""
    key = base64.b64encode(bytes(16)).decode()
    return (
        f"GET {session}/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def connected(url: str) -> socket.socket:
    """A raw TCP connection to a replica."""
    address = httpx.URL(url)
    return socket.create_connection((address.host, address.port or 0), timeout=30)


def read_all(connection: socket.socket) -> bytes:
    """Everything received until the other side closes the connection."""
    return b"".join(iter(lambda: connection.recv(4096), b""))
