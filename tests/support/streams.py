"""A client of a session's stream, with less to write."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed


class Stream:
    """An open stream; `greeting` is the server's first message."""

    def __init__(self, socket: ClientConnection, greeting: dict[str, Any]) -> None:
        self.socket = socket
        self.greeting = greeting

    async def send(self, text: str, position: int | None = None) -> None:
        """Send a sentence."""
        message: dict[str, Any] = {"text": text} if position is None else {"text": text, "position": position}
        await self.socket.send(orjson.dumps(message).decode())

    async def send_all(self, texts: list[str], first: int) -> None:
        """Send sentences with their positions, without waiting for an answer."""
        for position, text in enumerate(texts, first):
            await self.send(text, position)

    async def receive(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = orjson.loads(await self.socket.recv())
        return message

    async def receive_all(self, count: int) -> list[dict[str, Any]]:
        """The next messages."""
        return [await self.receive() for _ in range(count)]

    async def closed(self) -> tuple[int, str]:
        """Wait until the server closes the stream, whatever it says before; gives code and reason, 1006 if it just ended."""
        try:
            while True:
                await self.socket.recv()
        except ConnectionClosed as closed:
            return (1006, "") if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)


@asynccontextmanager
async def opened(url: str, session: str, **options: Any) -> AsyncIterator[Stream]:
    """A stream of a session, by its path, at the replica with that URL; `options` are those of `websockets`."""
    async with connect(f"{url.replace('http', 'ws', 1)}{session}/stream", proxy=None, **options) as socket:
        yield Stream(socket, orjson.loads(await socket.recv()))
