"""WebSocket connections as uvicorn runs them, but for how they end."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class StreamProtocol(WebSocketsSansIOProtocol):
    """A connection that the application ends when the server does, and on which nothing a client sends is an error.

    Overrides what uvicorn has decided otherwise; `tests/stack/` shows what a client sees.
    """

    def shutdown(self) -> None:
        """Leave the connection as it is: the application answers what is in flight, then closes it with 1012."""

    def keepalive_timeout(self) -> None:
        """Give a client time whose pong may be among what has not been read, because too much is in flight."""
        if self.read_paused and self.ping_timeout is not None:
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def send_receive_event_to_app(self) -> None:
        """Refuse what is no UTF-8 with close code 1007; uvicorn does too, but logs it as an error of the server."""
        if self.curr_msg_data_type == "text" and not _is_utf8(self.frames):
            self.frames = []
            self.conn.send_close(1007)
            self.handle_parser_exception()
        else:
            super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """End the connection; there is nothing to say where not even the handshake could be read."""
        if self.conn.close_sent is None:
            self.transport.close()
        else:
            super().handle_parser_exception()


def _is_utf8(frames: list[bytes]) -> bool:
    try:
        b"".join(frames).decode()
    except UnicodeDecodeError:
        return False
    return True
