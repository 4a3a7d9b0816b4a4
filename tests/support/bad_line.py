"""A connection to the service that breaks now and then, as a client of a session must expect."""

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

_REQUEST = re.compile(rb"^(?:GET|POST) \S+/(sentences|stream) HTTP", re.MULTILINE)
_LET_THROUGH = {b"sentences": 0, b"stream": 1}
"""Pieces of the service's answer that reach the client before the break: none, or the greeting of a stream."""
_MOST_BYTES = 65_536


@dataclass
class BadLine:
    """A proxy on loopback that cuts off every other request for a sentence or a stream, beginning with the first.

    By then the service has received the request: it does the work, but the client never hears of it.
    """

    service: str
    address: str = ""
    requests: int = 0
    broken: int = 0

    async def forward(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve one client until either side closes the connection or the proxy breaks it."""
        host, port = self.service.split(":")
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        connection = _Connection(self)
        directions = (
            asyncio.create_task(connection.requests(reader, there_writer)),
            asyncio.create_task(connection.answers(there_reader, writer)),
        )
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            for end in (writer, there_writer):
                end.close()
                with suppress(OSError):
                    await end.wait_closed()


class _Connection:
    """The two directions of one client's connection to the service."""

    def __init__(self, line: BadLine) -> None:
        self._line = line
        self._pieces_left: int | None = None

    async def requests(self, client: StreamReader, service: StreamWriter) -> None:
        while data := await client.read(_MOST_BYTES):
            found = _REQUEST.search(data)
            if found is not None:
                self._line.requests += 1
                self._pieces_left = _LET_THROUGH[found[1]] if self._line.requests % 2 else None
            service.write(data)

    async def answers(self, service: StreamReader, client: StreamWriter) -> None:
        while data := await service.read(_MOST_BYTES):
            if self._pieces_left is not None:
                self._pieces_left -= 1
                if self._pieces_left < 0:
                    self._line.broken += 1
                    return
            client.write(data)


@asynccontextmanager
async def bad_line(service: str) -> AsyncIterator[BadLine]:
    """Run such a proxy in front of the service at an address, `host:port`."""
    line = BadLine(service)
    server = await asyncio.start_server(line.forward, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        line.address = f"{host}:{port}"
        yield line
