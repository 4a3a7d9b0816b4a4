"""Which web pages may use the service from a browser: its own, and those of the configured origins.

Browsers keep a page from reading the answers of another origin (CORS), and ask that origin before they send it JSON.
But they let a page open a WebSocket or send a form anywhere, so for these the service checks the Origin itself. Clients
other than browsers send no Origin, and pass.
"""

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import OriginNotAllowedError
from service.http.handlers import refuse
from service.telemetry.metrics import Metrics

_FORMS: Final = {"application/x-www-form-urlencoded", "multipart/form-data", ""}
"""Bodies that browsers let any page POST without asking; without a body, members may be in the address."""


def media_type(headers: Headers) -> str:
    """Return the declared type of a body, without its parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def may_ask(origin: str | None, host: str, allowed: Collection[str]) -> bool:
    """Return whether a page of `origin` (None: not a browser) may open a WebSocket or send a form to `host`."""
    if origin is None or "*" in allowed or origin.lower() in allowed:
        return True
    return origin.partition("://")[2].lower() == host.lower() != ""


class OriginMiddleware:
    """Refuses WebSockets and forms from pages of other origins, which would act in the name of the page's reader.

    The refusal is an HTTP answer, 403; for a WebSocket, it takes the place of the handshake.
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
