"""WebSocket connections as uvicorn runs them, except for how they end."""

from typing import Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from service.http.connections import LINGER_SECONDS

MOST_FRAGMENTS: Final = 1024
"""Most fragments of one message; empty ones escape the limit on its bytes."""

MOST_UNREAD_BYTES: Final = 1_048_576
"""Most bytes that a client leaves unread: these are answers to its pings, since all else waits for it to read."""


SILENT_SECONDS: Final = 0.5
"""How long a client may be silent after what it sent was refused, before it counts as done sending."""


_BAD_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class StreamProtocol(WebSocketsSansIOProtocol):
    """A WebSocket that the application closes when the server ends; nothing a client sends is an error of the server.

    Overrides what uvicorn does otherwise; `tests/stack/test_stream_*.py` show what a client sees.
    """

    _refused_at: float | None = None
    """When something was refused, if anything was: all that comes after it is discarded."""

    def shutdown(self) -> None:
        """Leave the connection open: the application answers what is in flight, then closes it with 1012."""

    def data_received(self, data: bytes) -> None:
        """Read on; answer and close if the handshake cannot be parsed, of which uvicorn learns nothing."""
        if self._refused_at is not None:
            self._close_soon(self._refused_at)
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(b"".join(self.conn.data_to_send()) or _BAD_HANDSHAKE)
            self.transport.close()

    def keepalive_timeout(self) -> None:
        """Give a client more time if its pong may be among what is not read yet, because too much is in flight."""
        if self.read_paused and self.ping_timeout is not None:
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message; refusing a handshake completes it, and is no error if the client has left."""
        try:
            await super().send(message)
        except ClientDisconnected:
            if not message["type"].startswith("websocket.http.response."):
                raise
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True  # otherwise uvicorn logs that it is not

    def handle_ping(self) -> None:
        """Answer a ping; drop a client that sends pings and does not read the answers."""
        super().handle_ping()
        if self.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        """Take a fragment; too many end the connection with 1009, as too many bytes do."""
        if self.close_sent:
            return
        super().handle_cont(event)
        if len(self.frames) > MOST_FRAGMENTS:
            self._refuse(1009)

    def send_receive_event_to_app(self) -> None:
        """Refuse text that is not UTF-8 with close code 1007: uvicorn does too, but logs an error of the server."""
        if not self.handshake_complete:
            self.transport.close()  # a client has to wait for the answer to its handshake
        elif self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf8(self.frames):
            self._refuse(1007)
        else:
            super().send_receive_event_to_app()

    def _refuse(self, code: int) -> None:
        self.frames = []
        if self.handshake_complete and self.conn.close_sent is None:  # a close in the same segment has been answered
            self.conn.send_close(code)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """End the connection; before the handshake has been answered there is no way to say why.

        The rest of what is refused may still be on its way, and is read first: if the connection closed at once, the
        client would only learn that it broke, and would send the same on another one.
        """
        close = self.conn.close_sent
        if close is None:
            self.transport.close()
            return
        self.close_sent = True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self._refused_at = self.loop.time()
        self._close_soon(self._refused_at)

    def _close_soon(self, refused_at: float) -> None:
        """Close once nothing has come for a moment, or the client has gone on for too long."""
        if self.close_timer is not None:
            self.close_timer.cancel()
        moment = min(self.loop.time() + SILENT_SECONDS, refused_at + LINGER_SECONDS)
        self.close_timer = self.loop.call_at(moment, self.transport.close)


def _is_utf8(frames: list[bytes]) -> bool:
    try:
        b"".join(frames).decode()
    except UnicodeDecodeError:
        return False
    return True
