"""Header fields by which browsers keep answers to themselves. HSTS is left to whoever ends TLS: he knows the host."""

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
"""Swagger UI sets styles from its script."""
_ANSWER: Mapping[str, str] = MappingProxyType({**_ALWAYS, "Content-Security-Policy": _NOTHING})
_PAGE: Mapping[str, str] = MappingProxyType(
    {**_ALWAYS, "Content-Security-Policy": _SCRIPTS, "Cache-Control": "no-cache"}
)
"""Browsers ask whether it is still the same: after an update, no script would fit a page that was kept."""
_GIVEN: Final = frozenset({200, 206, 304})
"""Status of an answer that is the page, or what it loads, and no error."""


class SecurityHeadersMiddleware:
    """Puts them on every answer, refusals of a WebSocket included.

    Nothing but a page may be kept in a cache: answers hold texts of users.
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
                    headers.setdefault("Cache-Control", "no-store")  # streams say more
            await send(message)

        await self._app(scope, receive, secured)
