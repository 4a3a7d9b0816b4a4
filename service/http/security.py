"""Header fields by which browsers keep answers to themselves. HSTS is left to whoever ends TLS: he knows the host."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.middleware import ANSWER_STARTS

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
_PAGE: Mapping[str, str] = MappingProxyType({**_ALWAYS, "Content-Security-Policy": _SCRIPTS})


class SecurityHeadersMiddleware:
    """Puts them on every answer, refusals of a WebSocket included; `docs` is the path of the page with scripts.

    Nothing but that page may be kept in a cache: answers hold texts of users.
    """

    def __init__(self, app: ASGIApp, *, docs: str) -> None:
        self._app = app
        self._docs = docs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        path = scope.get("path", "")
        is_page = path == self._docs or path.startswith(f"{self._docs}/")

        async def secured(message: Message) -> None:
            if message["type"] in ANSWER_STARTS:
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                headers.update(_PAGE if is_page else _ANSWER)
                if not is_page:
                    headers.setdefault("Cache-Control", "no-store")  # streams say more
            await send(message)

        await self._app(scope, receive, secured)
