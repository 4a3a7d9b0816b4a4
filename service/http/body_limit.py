"""The limit on the bytes of a request's body."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimitMiddleware:
    """Refuses a body announced as too long before reading any of it, and any other once it has become too long.

    Starlette's own limit answers in plain text, not with a problem detail.
    """

    def __init__(self, app: ASGIApp, *, most: int, most_at: Mapping[str, int]) -> None:
        """Limit bodies to `most` bytes, or at paths with a prefix in `most_at` to the bytes given there."""
        self._app = app
        self._most = most
        self._most_at = most_at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; WebSocket messages have their own limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        digits = Headers(scope=scope).get("content-length", "")  # nothing else: the HTTP parser sees to that
        announced = int(digits.lstrip("0") or 0)  # Python refuses to parse thousands of zeros
        most = next((most for start, most in self._most_at.items() if scope["path"].startswith(start)), self._most)
        received = 0

        async def counted() -> Message:
            nonlocal received
            _check(announced, most)
            message = await receive()
            received += len(message.get("body", b""))
            _check(received, most)
            return message

        await self._app(scope, counted, send)


def _check(size: int, most: int) -> None:
    if size > most:
        raise HTTPException(413, f"the body has more than {most} bytes")
