"""The limit on the bytes of a request's body."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimitMiddleware:
    """Refuses a body that is announced as too long before any of it is read, another one once it has become too long.

    Starlette's own limit answers in plain text, which is no problem detail.
    """

    def __init__(self, app: ASGIApp, *, most: int, most_of_strangers: Mapping[str, int]) -> None:
        """Limit bodies to `most` bytes, and to less below the paths where nobody is known before the body is read."""
        self._app = app
        self._most = most
        self._most_of_strangers = most_of_strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; a WebSocket's messages have a limit of their own."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = int(Headers(scope=scope).get("content-length", 0))  # digits: the HTTP parser has seen to that
        most = self._most_at(scope["path"])
        received = 0

        async def counted() -> Message:
            nonlocal received
            _check(announced, most)
            message = await receive()
            received += len(message.get("body", b""))
            _check(received, most)
            return message

        await self._app(scope, counted, send)

    def _most_at(self, path: str) -> int:
        return min([self._most, *(most for start, most in self._most_of_strangers.items() if path.startswith(start))])


def _check(size: int, most: int) -> None:
    if size > most:
        raise HTTPException(413, f"the body has more than {most} bytes")
