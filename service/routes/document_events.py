"""A translated document as server-sent events, each sentence as soon as it is ready."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import orjson
from fastapi import Request
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Message, Receive, Scope, Send

from models.errors import AntecedentError
from service.deadline import until
from service.http.problems import message_of
from service.routes.dependencies import Services
from service.use_cases.documents import DocumentStream

EVENT_STREAM: Final = EventSourceResponse.media_type
_UNBUFFERED: Final = {"X-Accel-Buffering": "no", "Cache-Control": "no-store, no-transform"}
"""For proxies, which would keep back or compress what is small."""

_ESCAPED: Final = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
"""What ends a line for JavaScript's regular expressions, or for Python's `splitlines`."""

EVENTS: Final[dict[str, Any]] = {
    "description": "The translated document: as a whole or, if the request accepts them, as events.",
    "content": {
        EVENT_STREAM: {
            "schema": {"type": "string"},
            "example": "event: sentence\n"
            'data: {"position":0,"source":"座った。","translation":"She sat down.",'
            '"score":-0.2,"context_size":0,"alternatives":[],"before":""}\n\n'
            'event: done\ndata: {"id":"pQ2vS4uX6yZ8aB0cD2eF4g","model":"ja-en","sentences":1,"after":""}\n\n',
        }
    },
}
"""For the OpenAPI document, which has no words for what is in a stream."""


def wants_events(request: Request) -> bool:
    """Whether the client has asked for events rather than for the whole answer."""
    weights = dict(map(_weighted, ",".join(request.headers.getlist("accept")).lower().split(",")))
    ranges = (weights[each] for each in ("application/json", "application/*", "*/*") if each in weights)
    return weights.get(EVENT_STREAM, 0) > 0 and weights[EVENT_STREAM] >= next(ranges, 0)


def _weighted(media_range: str) -> tuple[str, float]:
    """Return a media range and its weight (RFC 9110, 12.4.2); a weight that is not a number counts as not given."""
    name, *parameters = (part.strip() for part in media_range.split(";"))
    weight = next((value for key, _, value in (each.partition("=") for each in parameters) if key == "q"), "1")
    with suppress(ValueError):
        return name, float(weight)
    return name, 1.0


class DocumentEvents(EventSourceResponse):
    """Sends a document; when it has ended, or the client has left, closes `held`: all that the document holds.

    A comment goes out whenever there has been nothing to send for a while, and a client that takes nothing for long
    is given up (`Documents.ping_seconds`, `Documents.idle_seconds`). `deadline` is the loop's time at which the rest
    is of no use any more, if there is one.
    """

    def __init__(
        self, stream: DocumentStream, request: Request, parts: Services, held: AsyncExitStack, deadline: float | None
    ) -> None:
        self._held = held
        self._idle = parts.documents.idle_seconds
        super().__init__(_events(stream, request, parts, deadline), headers=_UNBUFFERED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request."""

        async def send_soon(message: Message) -> None:
            async with asyncio.timeout(self._idle):
                await send(message)

        async with self._held:
            with suppress(TimeoutError):
                await super().__call__(scope, receive, send_soon)


async def _events(
    stream: DocumentStream, request: Request, parts: Services, deadline: float | None
) -> AsyncIterator[bytes]:
    metrics = parts.metrics
    try:
        while True:
            while not await _ready(stream, parts.documents.ping_seconds, deadline):
                yield KEEPALIVE_COMMENT
            sentence = await anext(stream, None)
            if sentence is None:
                break
            if sentence.position == 0:
                metrics.first_sentence_seconds.observe(time.perf_counter() - request.state.began)
            yield _event("sentence", sentence.model_dump_json())
    except AntecedentError as error:
        metrics.rejections.labels(error.code).inc()
        yield _event("error", orjson.dumps(message_of(error, request.state.request_id)).decode())
    else:
        yield _event("done", stream.end().model_dump_json())


async def _ready(stream: DocumentStream, seconds: float, deadline: float | None) -> bool:
    async with until(deadline):
        return await stream.ready(seconds)


def _event(kind: str, data: str) -> bytes:
    """Format an event with its JSON on one line, even for clients that know more line ends than the format does."""
    return format_sse_event(event=kind, data_str=data.translate(_ESCAPED))
