"""A span around every HTTP request, in the trace that its sender has begun."""

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.middleware import method_of, route_of
from service.telemetry.tracing import attached, context_of, span

_UNTRACED = ("/health/", "/metrics")
"""Paths that are polled every few seconds."""


class TraceMiddleware:
    """Traces HTTP requests, named by the pattern of their route, which has no ids in it.

    A WebSocket may stay open for hours: here its sender's trace only becomes current; whatever serves it makes spans.
    """

    def __init__(self, app: ASGIApp, *, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan" or scope["path"].startswith(_UNTRACED):
            await self._app(scope, receive, send)
            return
        context = context_of(Headers(scope=scope).get("traceparent"))
        if scope["type"] == "websocket":
            with attached(context):
                await self._app(scope, receive, send)
            return
        method = method_of(scope)
        status = 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with span(self._tracer, method, kind=SpanKind.SERVER, parent=context) as current:
            try:
                await self._app(scope, receive, observed)
            finally:
                _describe(current, method, route_of(scope), status)


def _describe(current: Span, method: str, route: str, status: int) -> None:
    current.update_name(f"{method} {route}")
    current.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
    if status >= 500:
        current.set_status(Status(StatusCode.ERROR))
