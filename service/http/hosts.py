"""The host names by which a service without keys may be addressed.

It listens on loopback and lets in whoever reaches it. A web page can make a browser on this machine reach it under the
page's own host name, by resolving that to 127.0.0.1 (DNS rebinding); to the browser the two are then one origin. A
proxy that gives others access to such a service is noticed here as well.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import HostNotAllowedError
from service.http.handlers import refuse
from service.settings import is_loopback
from service.telemetry.metrics import Metrics


def names_this_machine(host: str) -> bool:
    """Return whether a Host header names loopback, or is absent, which HTTP/1.0 allows but no browser does."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return not host or (name is not None and (is_loopback(name) or name.endswith(".localhost")))


class LoopbackHostMiddleware:
    """Refuses, with 403, requests addressed to any host other than this machine."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] != "lifespan" and not names_this_machine(Headers(scope=scope).get("host", "")):
            await refuse(HostNotAllowedError(), self._metrics, scope, receive, send)
            return
        await self._app(scope, receive, send)
