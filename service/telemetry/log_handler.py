"""A log handler that never waits for a reader: a line that is not taken at once is dropped, and delays no request."""

import io
import logging
import os
import select
from typing import TextIO

import structlog

_AT_ONCE = select.PIPE_BUF
"""Bytes that a pipe takes all at once if it takes any."""


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes each line whole or not at all; after the next one that it can write, says how many it has dropped."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._dropped = 0
        self._within_line = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line if it is taken at once."""
        try:
            if not self._write(f"{self.format(record)}{self.terminator}"):
                self._dropped += 1
            elif self._dropped:
                lines, self._dropped = self._dropped, 0
                structlog.get_logger(__name__).warning("log_lines_dropped", lines=lines)
                self._dropped += lines * (self._dropped > 0)  # that line was not taken either
        except Exception:  # noqa: BLE001 - as every handler does
            self.handleError(record)

    def _write(self, line: str) -> bool:
        try:
            descriptor = self.stream.fileno()
        except io.UnsupportedOperation:  # a stream within this process
            self.stream.write(line)
            return True
        left = memoryview(f"{self.terminator * self._within_line}{line}".encode(errors="backslashreplace"))
        while left:
            if not _takes(descriptor):
                return False
            left = left[os.write(descriptor, left[:_AT_ONCE]) :]
            self._within_line = len(left) > 0
        return True


def _takes(descriptor: int) -> bool:
    """Return whether a write would not have to wait; true on an error as well, which the write then raises."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))
