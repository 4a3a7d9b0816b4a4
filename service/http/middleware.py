"""Around every HTTP request: its id, log line, metrics, the limit on its body, and the errors nobody has foreseen."""

import re
import time
from collections.abc import Callable

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.problems import PROBLEM_TYPE, problem
from service.telemetry.logs import get_logger, where
from service.telemetry.metrics import Metrics

REQUEST_ID = "X-Request-ID"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Others, which a client may make up, are neither logged nor labels."""
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

_log = get_logger(__name__)


def route_of(scope: Scope) -> str:
    """The pattern of the route that a request has been given to, without ids; `none` where there is none."""
    route: str = getattr(scope.get("route"), "path", "none")
    return route


def method_of(scope: Scope) -> str:
    """The method of a request; `other` for one that a client has made up."""
    method: str = scope["method"]
    return method if method in _METHODS else "other"


class RequestMiddleware:
    """Gives each request an id (the client's, if it is harmless), and accounts for it when it is done."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, new_id: Callable[[], str]) -> None:
        self._app = app
        self._metrics = metrics
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SAFE_ID.fullmatch(given) else self._new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(send, request_id)
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, answer.send)
            except Exception as error:  # noqa: BLE001 - the last place where it can become an answer without its message
                _log.error("unforeseen_error", error=type(error).__name__, where=where(error))
                await self._apologise(scope, receive, answer, request_id)
            finally:
                self._account(scope, answer.status, time.perf_counter() - began)

    async def _apologise(self, scope: Scope, receive: Receive, answer: "_Answer", request_id: str) -> None:
        if answer.status is None:
            self._metrics.rejections.labels("internal_error").inc()
            detail = "something unforeseen went wrong; the log has it under the request's id"
            body = problem(500, "internal_error", detail, request_id)
            await JSONResponse(body, 500, media_type=PROBLEM_TYPE)(scope, receive, answer.send)

    def _account(self, scope: Scope, status: int | None, seconds: float) -> None:
        route, method = route_of(scope), method_of(scope)
        self._metrics.requests.labels(route, method, str(status or 499)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        _log.info("request", method=method, route=route, status=status, seconds=round(seconds, 4))


class BodyLimitMiddleware:
    """Refuses a body as soon as it has more bytes than are accepted, whatever its Content-Length says."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._most:
                raise HTTPException(413, f"the body has more than {self._most} bytes")
            return message

        await self._app(scope, counted, send)


class _Answer:
    """Passes an answer on with the request's id, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)[REQUEST_ID] = self._request_id
        await self._send(message)
