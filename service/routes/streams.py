"""Documents that grow sentence by sentence over one WebSocket; docs/streams.md describes the protocol."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from service.access.caller import Caller
from service.errors import UpgradeRequiredError
from service.routes.dependencies import CallerDep, DocumentDep, Services, ServicesDep
from service.store.document import DocumentKey
from service.streams import messages
from service.streams.conversation import Conversation, GoneError
from service.streams.open_streams import Ending
from service.telemetry.logs import get_logger

SUBPROTOCOL = "antecedent.v1"

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

_log = get_logger(__name__)


@router.websocket("/{session_id}/stream", name="streamSession")
async def stream_session(
    socket: WebSocket, session_id: str, document: DocumentDep, who: CallerDep, parts: ServicesDep
) -> None:
    """Sentences come, and answers go, in the order of the sentences."""
    async with parts.limiter.hold(who):
        with parts.streams.opened() as soon:
            state = await parts.sessions.resume(document)
            channel = _SocketChannel(socket)
            try:
                await channel.accept()
                await channel.send(messages.greeting(session_id, state))
                conversation = _conversation(socket, document, who, parts, state.next_position)
                ending = await conversation.run(channel, soon)
                await channel.close(ending, parts.streams.limits.idle_seconds)
                _log.info("stream_ended", code=ending.code)
            except GoneError:
                _log.info("stream_ended", code=None)


@router.api_route("/{session_id}/stream", methods=["GET", "HEAD"], include_in_schema=False)
async def refuse_request(_who: CallerDep) -> None:
    """Tells whoever asks without a handshake, or behind a proxy that has taken it away, what is missing."""
    raise UpgradeRequiredError


def _conversation(
    socket: WebSocket, document: DocumentKey, who: Caller, parts: Services, next_position: int
) -> Conversation:
    async def admit() -> None:
        now = parts.access.readmit(who)
        now.require("translate")
        await parts.limiter.spend(now, 1)

    return Conversation(
        document,
        parts.sessions,
        admit,
        parts.metrics,
        parts.tracer,
        request_id=socket.state.request_id,
        next_position=next_position,
        limits=parts.streams.limits,
    )


class _SocketChannel:
    """The messages of a WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def accept(self) -> None:
        offered = self._socket.scope["subprotocols"]
        with _gone():
            await self._socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)

    async def receive(self) -> str | bytes:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise GoneError
        text: str | None = message.get("text")
        return message["bytes"] if text is None else text

    async def send(self, message: str) -> None:
        with _gone():
            await self._socket.send_text(message)

    async def close(self, ending: Ending, seconds: float) -> None:
        with _gone():
            async with asyncio.timeout(seconds):  # a client that reads nothing has no room for a close either
                await self._socket.close(ending.code, ending.reason)


@contextmanager
def _gone() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, WebSocketDisconnect):
        # OSError while it opens (and TimeoutError, which is one, while it closes); RuntimeError between a malformed
        # frame and the end of the connection that it leads to
        raise GoneError from None
