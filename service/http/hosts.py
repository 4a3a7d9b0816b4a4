"""By which names a service without keys may be called.

It listens on loopback and lets in whoever reaches it. A page can make a browser on this machine reach it under the
page's own name, by having that name stand for 127.0.0.1 (DNS rebinding); the browser then takes the two for one origin.
A proxy that leads strangers to such a service is noticed here too.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import HostNotAllowedError
from service.http.handlers import refuse
from service.settings import is_loopback
from service.telemetry.metrics import Metrics


def names_this_machine(host: str) -> bool:
    """Whether a Host header is a name of loopback; none at all, as HTTP/1.0 allows, is no browser's."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return not host or (name is not None and (is_loopback(name) or name.endswith(".localhost")))


class LoopbackHostMiddleware:
    """Refuses, with 403, what is addressed to any other host than this machine."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] != "lifespan" and not names_this_machine(Headers(scope=scope).get("host", "")):
            await refuse(HostNotAllowedError(), self._metrics, scope, receive, send)
            return
        await self._app(scope, receive, send)
