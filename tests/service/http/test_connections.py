"""How connections end, on a real server and real sockets."""

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import pytest
import uvicorn

from service.http import connections
from service.http.connections import HttpProtocol
from tests.support.servers import eventually, free_port

ANSWER = 30_000_000
"""Bytes: more than the buffers of a socket hold."""


async def app(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[object]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """Answers every request with more than sockets hold, at once."""
    length = str(ANSWER).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": bytes(ANSWER)})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[uvicorn.Server]:
    """A server whose connections are closed soon after their last answer."""
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.3)
    config = uvicorn.Config(
        app, port=free_port(), http=HttpProtocol, lifespan="off", log_config=None, timeout_keep_alive=0, loop="uvloop"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, "it listens")
    yield server
    server.should_exit = server.force_exit = True
    thread.join(5)


def ask(server: uvicorn.Server) -> socket.socket:
    """A connection on which the answer has been asked for."""
    connection = socket.create_connection(("127.0.0.1", server.config.port))
    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return connection


def test_who_reads_nothing_is_not_waited_for(server: uvicorn.Server) -> None:
    """Neither the descriptor nor the answer is kept."""
    with ask(server):
        eventually(lambda: bool(server.server_state.connections), "it is there")
        eventually(lambda: not server.server_state.connections, "it is gone")


def test_who_reads_slowly_gets_everything(server: uvicorn.Server) -> None:
    """A slow line is no reason to end it."""
    read, pause = 0, threading.Event()
    with ask(server) as connection:
        while chunk := connection.recv(1_000_000):
            read += len(chunk)
            pause.wait(0.05)
    assert read > ANSWER
