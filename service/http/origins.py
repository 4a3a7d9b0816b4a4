"""Which web pages may use the service from a browser: its own, and those of the origins that are configured.

Browsers keep a page from reading what another origin answers (CORS), but let it open a WebSocket anywhere: there the
service looks at the Origin itself. Whatever is no browser sends none, and passes.
"""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import OriginNotAllowedError
from service.http.handlers import refuse
from service.telemetry.metrics import Metrics


def may_connect(origin: str | None, host: str, allowed: Collection[str]) -> bool:
    """Whether a page of `origin`, None where it is no browser that asks, may open a WebSocket to `host`."""
    if origin is None or "*" in allowed or origin.lower() in allowed:
        return True
    return origin.partition("://")[2].lower() == host.lower() != ""


class OriginMiddleware:
    """Refuses a WebSocket that a page of another origin opens, which would speak for whoever has the page before them.

    The refusal is an HTTP answer, 403, instead of the handshake.
    """

    def __init__(self, app: ASGIApp, *, allowed: Collection[str], metrics: Metrics) -> None:
        self._app = app
        self._allowed = allowed
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] == "websocket":
            headers = Headers(scope=scope)
            if not may_connect(headers.get("origin"), headers.get("host", ""), self._allowed):
                await refuse(OriginNotAllowedError(), self._metrics, scope, receive, send)
                return
        await self._app(scope, receive, send)
