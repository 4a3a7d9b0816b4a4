"""HTTP connections as uvicorn runs them, but with a limit on everything that a client could let grow without end.

A client that reads nothing is not waited for. A request with endless header fields is refused, and so are too many
requests sent without waiting for an answer. A client that offers a protocol other than WebSocket is served without it.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Any, Final, cast

import httptools
from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

STUCK_SECONDS: Final = 10.0
"""How long the peer of a closing or idle connection may read nothing of what is left to be sent."""


LINGER_SECONDS: Final = 5.0
"""How long a closing connection still reads the body that the peer was sending when it got its answer."""


MOST_BARE_BYTES: Final = 65_536
"""Most consecutive bytes of a request that are not body: request line, header fields, chunk headers and trailers."""


MOST_PIPELINED: Final = 32
"""Most requests that a connection may send before the first is answered; each costs a hundred times its bytes."""


_OF_AN_OFFER: Final = frozenset((b"upgrade", b"http2-settings"))
"""Header fields that offer another protocol; `Connection` lists their names as well."""


class HttpProtocol(HttpToolsProtocol):
    """An HTTP connection that ends soon after it is closed, even once it has become a WebSocket.

    Its limits apply to clients that are not authenticated yet. `unread_seconds` is how long a client may read nothing
    of what waits for it while its connection stays open: an answer that waits keeps all that it is made of in memory.
    """

    parser: "_Parser"

    def __init__(self, *arguments: Any, unread_seconds: float, **options: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*arguments, **options)
        self.parser = _Parser(self)
        self._unread_seconds = unread_seconds
        self._watching: asyncio.TimerHandle | None = None
        self._bare_bytes = 0
        self._head_has_ended = False
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, on a transport that does not wait for ever to close."""
        lingering = LingeringTransport(cast(asyncio.Transport, transport), is_sending=lambda: self._head_has_ended)
        super().connection_made(cast(asyncio.Transport, lingering))

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and tell the request that is being answered; uvicorn tells only the last one received."""
        super().connection_lost(exc)
        self._stop_watching()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def pause_writing(self) -> None:
        """Make answers wait until the client reads on, but not for ever."""
        super().pause_writing()
        self._watch(None)

    def resume_writing(self) -> None:
        """Let answers go on, since the client has read on."""
        self._stop_watching()
        super().resume_writing()

    def timeout_keep_alive_handler(self, before: int | None = None) -> None:
        """Close an idle connection, unless the client still reads an answer: its next request may follow at once."""
        left = self.transport.get_write_buffer_size()
        if left and left != before:
            look_again = partial(self.timeout_keep_alive_handler, left)
            self.timeout_keep_alive_task = self.loop.call_later(STUCK_SECONDS, look_again)
        else:
            super().timeout_keep_alive_handler()

    def _watch(self, before: int | None) -> None:
        left = self.transport.get_write_buffer_size()
        if left and left == before:
            self.transport.abort()
        elif left:  # else all has been read, perhaps after the connection became a WebSocket
            self._watching = self.loop.call_later(self._unread_seconds, self._watch, left)

    def _stop_watching(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def data_received(self, data: bytes) -> None:
        """Read on, but refuse too many bytes that are not body."""
        self._bare_bytes += len(data)
        super().data_received(data)
        if self._bare_bytes > MOST_BARE_BYTES and not self.transport.is_closing():
            self.send_400_response("Header fields too large.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header field, but no trailer: nothing here uses those, and they would count as header fields.

        White space after a value is not part of it (RFC 9110, 5.5); the parser strips only what precedes the value.
        """
        if not self._head_has_ended:
            super().on_header(name, value.rstrip(b" \t"))

    def _should_upgrade(self) -> bool:
        """Return whether this becomes a WebSocket, which only a GET may (RFC 6455, 4.1).

        Several `Connection` lines count as one (RFC 9110, 5.3): the parser reads them all, uvicorn only the last.
        """
        offered = self.parser.should_upgrade() and (b"upgrade", b"websocket") in (
            (name, value.lower()) for name, value in self.headers
        )
        return offered and self.parser.get_method() == b"GET"

    def handle_websocket_upgrade(self) -> None:
        """Become a WebSocket, unless an earlier request has no answer yet: that would come among the frames.

        It is also refused if frames came with it, which would be lost: a client has to wait for the answer
        first (RFC 6455, 4.1).
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.send_400_response("A request before this handshake has no answer yet.")
        elif self.parser.rest:
            self.send_400_response("There are bytes after this handshake, which has no answer yet.")
        else:
            super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Start to answer a request; later ones wait, and are then started by the one before them.

        So each gets a context of its own, without what logs and traces hold about the request before it.
        """
        self._answering = cycle
        app = _without_chunks(cycle, app) if cycle.scope["http_version"] == "1.0" else app
        Context().run(super()._start_asgi_task, cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Refuse what was sent, and close; amid an answer, only close: a refusal would be taken for a part of it."""
        running = self._answering
        amid = running is not None and running.response_started and not running.response_complete
        if amid or self.transport.is_closing():
            self.transport.close()
        else:
            super().send_400_response(msg)

    @property
    def _declines(self) -> bool:
        """Whether the client offers a protocol that is not supported here, as Java's offers h2c with each request."""
        offers = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        return offers and not self._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Read the request again without the offer (RFC 9110, 7.8), which made the parser end it with its head."""
        if not self._declines:
            return
        head = [self.parser.get_method(), b" ", self.url, b" HTTP/", self.parser.get_http_version().encode(), b"\r\n"]
        for name, value in self.headers:
            if name == b"connection":
                kept = [each for each in value.split(b",") if each.strip().lower() not in _OF_AN_OFFER]
                head += [name, b": ", b",".join(kept), b"\r\n"]
            elif name not in _OF_AN_OFFER:
                head += [name, b": ", value, b"\r\n"]
        rest, self.parser = self.parser.rest, _Parser(self)
        self._bare_bytes, self._head_has_ended = 0, False
        self.data_received(b"".join(head) + b"\r\n" + rest)

    def on_headers_complete(self) -> None:
        """Check a complete head, and have the request answered.

        Raises:
            ValueError: the head is too long or does not name its host exactly once, or too many requests are waiting;
                the parser stops, and uvicorn answers with 400.
        """
        if self._declines:
            return
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MOST_BARE_BYTES:
            raise ValueError("header fields too large")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):  # RFC 9112, 3.2
            raise ValueError("not one Host")
        self._bare_bytes, self._head_has_ended = 0, True
        super().on_headers_complete()
        if len(self.pipeline) > MOST_PIPELINED:
            raise ValueError("requests without an answer")

    def on_body(self, body: bytes) -> None:
        """Take a part of the body; its length is limited elsewhere."""
        self._bare_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Get ready for another head."""
        if self._declines:
            return
        self._bare_bytes, self._head_has_ended = 0, False
        super().on_message_complete()
        if self.transport.is_closing():
            self.transport.close()


def _without_chunks(cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
    """Return `app` with answers of unknown length ended by closing: HTTP/1.0 has no chunks (RFC 9112, 6.1).

    uvicorn sends chunks all the same, and older proxies and tools take their sizes for text.
    """
    unbounded = False

    async def send(message: ASGISendEvent) -> None:
        nonlocal unbounded
        if message["type"] == "http.response.start":
            unbounded = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
            cycle.chunked_encoding = False if unbounded else None
        elif message["type"] == "http.response.body" and unbounded:
            cycle.expected_content_length = len(message.get("body", b""))
        await cycle.send(message)

    async def unchunked(scope: Scope, receive: ASGIReceiveCallable, _send: ASGISendCallable) -> None:
        await app(scope, receive, send)

    return unchunked


class _Parser(httptools.HttpRequestParser):
    """uvicorn's parser, which also keeps what follows a head that offers another protocol."""

    def __init__(self, protocol: HttpProtocol) -> None:
        super().__init__(protocol)
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.rest = b""

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # uvicorn gives nothing else
        """Parse; keep what follows an offer of another protocol."""
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self.rest = data[offer.args[0] :]
            raise


class LingeringTransport:
    """A transport whose `close` writes what is left, as long as the peer goes on reading it.

    asyncio's waits without end, with the buffer in memory and the descriptor open. It also closes at once if the peer
    is still sending a body: the peer's kernel then learns that nobody reads, and discards the answer (RFC 9112, 9.6).
    So what still comes is read for a while, unless `close` is called again.
    """

    def __init__(self, transport: asyncio.Transport, is_sending: Callable[[], bool]) -> None:
        """Wrap a transport; `is_sending` tells whether a body is still to come."""
        self._transport = transport
        self._is_sending = is_sending
        self._lingering: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more will be written."""
        return self._lingering is not None or self._transport.is_closing()

    def close(self) -> None:
        """Close once all is written, or the peer reads no more."""
        if self._transport.is_closing():
            return
        if self._lingering is None and self._is_sending():
            self._linger()
            return
        if self._lingering is not None:
            self._lingering.cancel()
        self._transport.close()
        self._watch(None)

    def _linger(self) -> None:
        self._lingering = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.close)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()

    def _watch(self, before: int | None) -> None:
        left = self._transport.get_write_buffer_size()
        if left and left == before:
            self._transport.abort()
        elif left:
            asyncio.get_running_loop().call_later(STUCK_SECONDS, self._watch, left)
