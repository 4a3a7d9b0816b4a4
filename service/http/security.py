"""Header fields by which browsers isolate answers. HSTS is left to whatever terminates TLS, which knows the host."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.middleware import ANSWER_STARTS
from service.http.pages import is_page

_ALWAYS: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_SCRIPTS = (
    "default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Inline styles are allowed because Swagger UI sets them from its script."""
_ANSWER: Mapping[str, str] = MappingProxyType({**_ALWAYS, "Content-Security-Policy": _NOTHING})
_PAGE: Mapping[str, str] = MappingProxyType(
    {**_ALWAYS, "Content-Security-Policy": _SCRIPTS, "Cache-Control": "no-cache"}
)
"""Browsers ask each time whether a page has changed: after an update, the scripts would not fit a cached page."""
_GIVEN: Final = frozenset({200, 206, 304})
"""Statuses of answers that are a page or what it loads, and not an error."""


class SecurityHeadersMiddleware:
    """Adds these header fields to every answer, including refusals of a WebSocket.

    Only pages may be cached: other answers hold users' texts.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        at_page = is_page(scope.get("path", ""))

        async def secured(message: Message) -> None:
            if message["type"] in ANSWER_STARTS:
                of_page = at_page and message["status"] in _GIVEN
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                headers.update(_PAGE if of_page else _ANSWER)
                if not of_page:
                    headers.setdefault("Cache-Control", "no-store")  # streams set more
            await send(message)

        await self._app(scope, receive, secured)
