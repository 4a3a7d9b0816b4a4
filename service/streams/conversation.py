"""A stream from its first sentence to its end: sentences are answered in order, and none overtakes another.

Knows nothing of WebSockets except that messages come and go, and that the other side may be gone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from opentelemetry.trace import SpanKind, Tracer

from models.errors import AntecedentError
from service.deadline import moment_in, until
from service.errors import (
    ForbiddenError,
    InvalidMessageError,
    PositionGapError,
    SessionNotFoundError,
    UnauthenticatedError,
)
from service.schemas.sessions import SentenceRequest
from service.store.document import DocumentKey
from service.streams import messages
from service.streams.in_order import InOrder
from service.streams.open_streams import (
    IDLE,
    KEY_REFUSED,
    SESSION_NOT_FOUND,
    TOO_MANY_INVALID,
    Ending,
    EndingSoon,
    StreamLimits,
)
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import note_error, span
from service.use_cases.sessions import Placed, Sessions

MOST_INVALID = 16
"""Invalid messages in a row after which a stream is ended."""
_LAST_ERRORS: dict[type[AntecedentError], Ending] = {
    ForbiddenError: KEY_REFUSED,
    SessionNotFoundError: SESSION_NOT_FOUND,
    UnauthenticatedError: KEY_REFUSED,
}
"""Errors that end a stream, because every further sentence would get the same."""


class GoneError(Exception):
    """The other side is gone; raised by channels."""


class Channel(Protocol):
    """Where messages come from and go to; both calls raise GoneError once the other side is gone."""

    async def receive(self) -> str | bytes:
        """Return the next message."""

    async def send(self, message: str) -> None:
        """Send a message; waits while the other side is slow to read."""


class Conversation:
    """The sentences of one stream, which has been told the session's `next_position`.

    `admit` lets one more sentence through, or raises an error that says why not. While the most sentences allowed are
    under way, only one more message is read.
    """

    def __init__(
        self,
        document: DocumentKey,
        sessions: Sessions,
        admit: Callable[[], Awaitable[object]],
        metrics: Metrics,
        tracer: Tracer,
        *,
        request_id: str,
        next_position: int,
        limits: StreamLimits,
    ) -> None:
        self._document = document
        self._sessions = sessions
        self._admit = admit
        self._metrics = metrics
        self._tracer = tracer
        self._request_id = request_id
        self._next_position = next_position
        self._idle_seconds = limits.idle_seconds
        self._answers: InOrder[str] = InOrder(limits.in_flight)
        self._placing = asyncio.Lock()  # first come, first served: sentences are placed in the order in which they came
        self._behind = False
        self._least = 0
        """The earliest position of the next sentence: after those of this stream, even if they have been withdrawn."""

    async def run(self, channel: Channel, soon: EndingSoon) -> Ending:
        """Talk until there is a reason to end, and first answer what is under way by then.

        If the other side is gone, what is under way is withdrawn instead, the last sentence first: the document then
        keeps a sentence without an answer only if one after it has an answer.

        Raises:
            GoneError: the other side is gone.
        """
        writing = asyncio.create_task(self._write(channel))
        reading = asyncio.create_task(self._read(channel, soon))
        try:
            await asyncio.wait({writing, reading}, return_when=asyncio.FIRST_COMPLETED)
            if writing.done():
                await writing  # raises, since it has failed: nothing has told it to end
            ending = await reading
            self._answers.end()
            await writing
            return ending
        finally:
            for task in (reading, writing):
                task.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)
            await self._answers.cancel()

    async def _read(self, channel: Channel, soon: EndingSoon) -> Ending:
        invalid = 0
        while (message := await self._next(channel, soon)) is not None:
            await self._answers.room()
            try:
                request = messages.sentence(message)
            except InvalidMessageError as error:
                self._answers.begin(self._refuse(error))
                invalid += 1
                if invalid == MOST_INVALID:
                    soon.end(TOO_MANY_INVALID)
            else:
                self._answers.begin(self._traced(request, soon))
                invalid = 0
        return soon.ending.result()

    async def _next(self, channel: Channel, soon: EndingSoon) -> str | bytes | None:
        """Return the next message; None if the stream is to end."""
        receiving = asyncio.create_task(channel.receive())
        waiting: set[asyncio.Future[str | bytes] | asyncio.Future[Ending]] = {receiving, soon.ending}
        try:
            while not soon.ending.done():
                done, _ = await asyncio.wait(waiting, timeout=self._idle_seconds, return_when=asyncio.FIRST_COMPLETED)
                if receiving in done:
                    return receiving.result()
                if not done and not self._answers.under_way:
                    soon.end(IDLE)
            return None
        finally:
            receiving.cancel()

    async def _write(self, channel: Channel) -> None:
        async for message in self._answers.results():
            try:
                async with asyncio.timeout(self._idle_seconds):
                    await channel.send(message)
            except TimeoutError:
                raise GoneError from None  # it reads nothing, and so would never read a close either

    async def _traced(self, request: SentenceRequest, soon: EndingSoon) -> str:
        with span(self._tracer, "stream sentence", kind=SpanKind.SERVER):
            return await self._answer(request, soon)

    async def _answer(self, request: SentenceRequest, soon: EndingSoon) -> str:
        """Return the message that answers a sentence, or says why there is no answer."""
        position = request.position
        began = time.perf_counter()
        deadline = moment_in(request.deadline_seconds)
        try:
            async with self._placing, until(deadline):  # one that waits too long for others is not placed, either
                placed = await self._place(request)
            position = placed.appended.position
            async with until(deadline):
                answer = await self._sessions.answer(placed)
        except AntecedentError as error:
            if isinstance(error, PositionGapError):  # also raised if Redis loses a sentence before it is answered
                self._next_position = error.extras["next_position"]
            if type(error) in _LAST_ERRORS:
                soon.end(_LAST_ERRORS[type(error)])
            return self._problem(error, position)
        self._metrics.session_sentences.labels("stream").inc()
        self._metrics.stream_sentence_seconds.observe(time.perf_counter() - began)
        return messages.translation(answer)

    async def _place(self, request: SentenceRequest) -> Placed:
        """Give a sentence its place; one without a position follows the one before it on the stream, or is refused."""
        if request.position is None and self._behind:
            raise PositionGapError(
                "an earlier message has no position in the document: send it again, then this one, both with position",
                next_position=self._next_position,
            )
        self._behind = True
        await asyncio.sleep(0)  # a deadline that has passed ends it here, before it counts
        await self._admit()
        placed = await self._sessions.place(self._document, request.text, position=request.position, least=self._least)
        self._behind = False
        after, self._next_position = placed.appended.position + 1, placed.appended.next_position
        # What is placed last is the end of the document, even if some of the document has been lost.
        self._least = after if after == self._next_position else max(self._least, after)
        return placed

    async def _refuse(self, error: InvalidMessageError) -> str:
        async with self._placing:
            self._behind = True
        return self._problem(error, None)

    def _problem(self, error: AntecedentError, position: int | None) -> str:
        self._metrics.rejections.labels(error.code).inc()
        note_error(error.code)
        return messages.problem(error, self._request_id, position)
