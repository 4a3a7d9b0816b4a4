"""The end of a conversation with who does not take part in it, without a socket."""

import asyncio
from typing import cast

import pytest

from service.sessions import Sessions
from service.store.document import DocumentKey
from service.streams.conversation import Conversation, GoneError
from service.streams.open_streams import EndingSoon, StreamLimits
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER


class _Unread:
    """A client that sends on and on and takes no answer."""

    async def receive(self) -> str:
        return "no sentence"

    async def send(self, _message: str) -> None:
        await asyncio.Event().wait()


async def _admit() -> None:
    raise AssertionError("no sentence comes")


async def test_client_that_takes_no_answer_is_given_up() -> None:
    """For as long as a stream may be idle it may leave an answer; then it is gone, and holds up nobody's end."""
    conversation = Conversation(
        DocumentKey("tenant", "session"),
        cast(Sessions, None),  # what comes is no sentence
        _admit,
        Metrics(),
        NO_TRACER,
        request_id="id",
        next_position=0,
        limits=StreamLimits(in_flight=2, idle_seconds=0.05),
    )
    with pytest.raises(GoneError):
        async with asyncio.timeout(5):
            await conversation.run(_Unread(), EndingSoon())
