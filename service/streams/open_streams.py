"""The streams that are open in this process: how many there may be, and how they are told to end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from service.errors import ShuttingDownError, TooManyStreamsError
from service.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a stream is ended: the code and the reason with which it is closed."""

    code: int
    reason: str


RESUME = Ending(1012, "resume")
IDLE = Ending(1001, "idle")
KEY_REFUSED = Ending(1008, "the key is no longer valid")
TOO_MANY_INVALID = Ending(1008, "too many invalid messages")
SESSION_NOT_FOUND = Ending(4404, "session not found")


class EndingSoon:
    """Takes the reason to end a stream: the first one given counts."""

    def __init__(self) -> None:
        self.ending: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()

    def end(self, ending: Ending) -> None:
        """Have the stream answer what it has, and then end."""
        if not self.ending.done():
            self.ending.set_result(ending)


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """A stream has at most `in_flight` sentences under way, and ends `idle_seconds` after its last message."""

    in_flight: int
    idle_seconds: float


class OpenStreams:
    """At most `most` open streams, with `limits` for each; after `drain`, no more can be opened."""

    def __init__(self, most: int, limits: StreamLimits, metrics: Metrics) -> None:
        self.limits = limits
        self._most = most
        self._open: set[EndingSoon] = set()
        self._draining = False
        metrics.streams_open.set_function(lambda: len(self._open))

    @contextmanager
    def opened(self) -> Iterator[EndingSoon]:
        """Count one more until the block ends; yield what says when the stream is to end.

        Raises:
            ShuttingDownError, TooManyStreamsError: none may be opened.
        """
        if self._draining:
            raise ShuttingDownError
        if len(self._open) >= self._most:
            raise TooManyStreamsError
        soon = EndingSoon()
        self._open.add(soon)
        try:
            yield soon
        finally:
            self._open.remove(soon)

    def drain(self) -> None:
        """Have all streams end, so that their clients resume elsewhere."""
        self._draining = True
        for soon in self._open:
            soon.end(RESUME)
