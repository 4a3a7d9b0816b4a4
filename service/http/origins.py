"""Which web pages may use the service from a browser: its own, and those of the origins that are configured.

Browsers keep a page from reading what another origin answers (CORS), and ask before they send it JSON, but let it open
a WebSocket or send a form anywhere: there the service looks at the Origin itself. Whatever is no browser sends none,
and passes.
"""

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import OriginNotAllowedError
from service.http.handlers import refuse
from service.telemetry.metrics import Metrics

_FORMS: Final = {"application/x-www-form-urlencoded", "multipart/form-data", ""}
"""Bodies that browsers let any page POST without asking; with none at all, members may be in the address."""


def media_type(headers: Headers) -> str:
    """What a body is said to be, without the parameters of that."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def may_ask(origin: str | None, host: str, allowed: Collection[str]) -> bool:
    """Whether a page of `origin`, None where no browser asks, may open a WebSocket or send a form to `host`."""
    if origin is None or "*" in allowed or origin.lower() in allowed:
        return True
    return origin.partition("://")[2].lower() == host.lower() != ""


class OriginMiddleware:
    """Refuses WebSockets and forms of pages of other origins, which would speak for whoever has the page before them.

    The refusal is an HTTP answer, 403; instead of the handshake, where it is a WebSocket.
    """

    def __init__(self, app: ASGIApp, *, allowed: Collection[str], metrics: Metrics) -> None:
        self._app = app
        self._allowed = allowed
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] in {"http", "websocket"}:
            headers = Headers(scope=scope)
            unasked = scope["type"] == "websocket" or (scope["method"] == "POST" and media_type(headers) in _FORMS)
            if unasked and not may_ask(headers.get("origin"), headers.get("host", ""), self._allowed):
                await refuse(OriginNotAllowedError(), self._metrics, scope, receive, send)
                return
        await self._app(scope, receive, send)
