"""HTTP connections as uvicorn runs them, but for how they end: whoever reads nothing is not waited for."""

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

STUCK_SECONDS: Final = 10.0
"""In which the other side of a connection that is being closed has to read something of what is left."""


class HttpProtocol(HttpToolsProtocol):
    """A connection that ends soon after it has been closed; one that becomes a WebSocket keeps that."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, on a transport that does not wait for ever."""
        super().connection_made(cast(asyncio.Transport, ImpatientTransport(cast(asyncio.Transport, transport))))


class ImpatientTransport:
    """A transport whose `close` writes what is left, as long as the other side goes on reading it.

    asyncio's waits without end, with the buffer in memory and the descriptor open.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def close(self) -> None:
        """Close once all is written, or nothing more is."""
        if not self._transport.is_closing():
            self._transport.close()
            self._watch(None)

    def _watch(self, before: int | None) -> None:
        left = self._transport.get_write_buffer_size()
        if left and left == before:
            self._transport.abort()
        elif left:
            asyncio.get_running_loop().call_later(STUCK_SECONDS, self._watch, left)
