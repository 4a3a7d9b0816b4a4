"""WebSocket connections as uvicorn runs them, but for how they end."""

from typing import Final

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from service.http.connections import LINGER_SECONDS

MOST_FRAGMENTS: Final = 1024
"""Of one message; those without a byte do not count as bytes of it."""

MOST_UNREAD_BYTES: Final = 1_048_576
"""That wait for a client to read them: answers to its pings, since for anything else it is waited for."""


SILENT_SECONDS: Final = 0.5
"""In which whoever has sent what is refused has to send on, or else has ended."""


_BAD_HANDSHAKE: Final = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class StreamProtocol(WebSocketsSansIOProtocol):
    """A connection that the application ends when the server does; nothing that a client sends is an error on it.

    Overrides what uvicorn has decided otherwise; `tests/stack/test_stream_*.py` show what a client sees.
    """

    _refused_at: float | None = None
    """When something was refused, if it was: all that comes after it is thrown away."""

    def shutdown(self) -> None:
        """Leave the connection as it is: the application answers what is in flight, then closes it with 1012."""

    def data_received(self, data: bytes) -> None:
        """Read on; a handshake that cannot be read is answered and ends, of which uvicorn hears nothing."""
        if self._refused_at is not None:
            self._close_soon(self._refused_at)
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(b"".join(self.conn.data_to_send()) or _BAD_HANDSHAKE)
            self.transport.close()

    def keepalive_timeout(self) -> None:
        """Give a client time whose pong may be among what has not been read, because too much is in flight."""
        if self.read_paused and self.ping_timeout is not None:
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    async def send(self, message: ASGISendEvent) -> None:
        """Send; to refuse a handshake completes it, and whose client has left is refused without a word."""
        try:
            await super().send(message)
        except ClientDisconnected:
            if not message["type"].startswith("websocket.http.response."):
                raise
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True  # or else uvicorn logs that it is not

    def handle_ping(self) -> None:
        """Answer, unless the client sends pings and reads no answer."""
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
        """Refuse what is no UTF-8 with close code 1007: uvicorn does too, but logs it as an error of the server."""
        if not self.handshake_complete:
            self.transport.close()  # a client has to wait for the answer
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

        What is refused may still be on its way, and is read first: closed at once, its client would learn only that
        the connection is broken, and send the same on another one.
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
        """Close once nothing has come for a moment, or it has gone on for too long."""
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
