"""The number of open streams of a process, and how all are ended."""

import pytest

from service.errors import ShuttingDownError, TooManyStreamsError
from service.streams.open_streams import IDLE, RESUME, OpenStreams, StreamLimits
from service.telemetry.metrics import Metrics


@pytest.fixture
def streams() -> OpenStreams:
    """Room for two streams."""
    return OpenStreams(2, StreamLimits(in_flight=1, idle_seconds=1), Metrics())


async def test_as_many_as_there_may_be(streams: OpenStreams) -> None:
    """Beyond the limit a stream is refused until another has ended."""
    with streams.opened():
        with streams.opened(), pytest.raises(TooManyStreamsError), streams.opened():
            pass
        with streams.opened():
            pass


async def test_none_opens_after_the_word_to_end(streams: OpenStreams) -> None:
    """After the drain even an open connection gets no stream: it would be cut off without warning."""
    with streams.opened() as soon:
        streams.drain()
        assert soon.ending.result() == RESUME
        with pytest.raises(ShuttingDownError), streams.opened():
            pass


async def test_stream_that_ends_already_keeps_its_reason(streams: OpenStreams) -> None:
    """The drain reaches only the others."""
    with streams.opened() as ending, streams.opened() as other:
        ending.end(IDLE)
        streams.drain()
        assert (ending.ending.result(), other.ending.result()) == (IDLE, RESUME)
