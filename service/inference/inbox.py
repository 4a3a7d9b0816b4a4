"""The frames sent to a worker, which it reads between the steps of its work."""

import select
import socket

from service.inference.wire import HEADER

_CHUNK = 1 << 16


class Inbox:
    """Reads the frames that have arrived on a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._readable = select.poll()
        self._readable.register(connection, select.POLLIN)
        self._read = bytearray()

    def frames(self, *, wait: bool) -> list[bytes] | None:
        """Return the frames that have arrived since the last call, perhaps none; None if the other side is gone.

        With `wait`, block until there is at least one.
        """
        while True:
            if not self._readable.poll(None if wait and not self._whole() else 0):
                break
            chunk = self._connection.recv(_CHUNK)
            if not chunk:
                return None
            self._read += chunk
        return list(iter(self._next, None))

    def _whole(self) -> bool:
        """Return whether a whole frame has been read."""
        return len(self._read) >= HEADER.size and len(self._read) >= HEADER.size + self._length()

    def _length(self) -> int:
        (length,) = HEADER.unpack_from(self._read)
        return int(length)

    def _next(self) -> bytes | None:
        if not self._whole():
            return None
        end = HEADER.size + self._length()
        frame = bytes(self._read[HEADER.size : end])
        del self._read[:end]
        return frame
