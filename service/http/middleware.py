"""What surrounds every request and WebSocket: its id, log line and metrics, and answers to unforeseen errors."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.access.caller import Caller
from service.errors import ShuttingDownError
from service.http.answers import problem_answer
from service.http.problems import headers_of, problem, problem_of
from service.telemetry.logs import get_logger, where
from service.telemetry.metrics import Metrics

REQUEST_ID = "X-Request-ID"
ANSWER_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
"""Messages with the header fields of an answer; the second kind refuses a WebSocket."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are logged and used as labels; any other may be one that a client has made up."""
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CLOSES = frozenset({"websocket.close", "websocket.http.response.start"})
_SWITCHED = 101
_REFUSED = 403
"""The status that a server answers if a handshake ends with a close message."""
_UNFORESEEN = 1011
"""A WebSocket's close code for an unexpected condition in the server."""

_log = get_logger(__name__)


def route_of(scope: Scope) -> str:
    """Return the pattern of the route that serves a request, without ids; `none` if there is none.

    For static files, it is their folder.
    """
    route: str = getattr(scope.get("route"), "path", "") or scope.get("root_path") or "none"
    return route


def method_of(scope: Scope) -> str:
    """Return a request's method; `other` for one that a client has made up, `WEBSOCKET` for a WebSocket."""
    method: str = scope.get("method", "WEBSOCKET")
    return method if method in _METHODS or scope["type"] == "websocket" else "other"


class RequestMiddleware:
    """Gives each request an id (the client's, if it is harmless), and logs and counts it when it is done.

    The header fields in the request's `state.answer_headers` are added to its answer, and `state.began` is when it
    came, by `time.perf_counter`. A WebSocket is treated like a request, with the status 101 once it is open; how long
    it was open is in the log, not in the histogram.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, new_id: Callable[[], str]) -> None:
        self._app = app
        self._metrics = metrics
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SAFE_ID.fullmatch(given) else self._new_id()
        headers = {REQUEST_ID: request_id}
        began = time.perf_counter()
        scope.setdefault("state", {}).update(request_id=request_id, answer_headers=headers, began=began)
        answer = _Answer(send, headers)
        with structlog.contextvars.bound_contextvars(request_id=request_id), self._running(scope):
            try:
                await self._app(scope, receive, answer.send)
            except asyncio.CancelledError:  # only by a server that is ending and has waited long enough
                if scope["type"] != "http" or answer.status is not None:
                    raise
                await self._answer_shutting_down(scope, receive, answer)
            except (KeyboardInterrupt, SystemExit):
                raise
            # The last place where it can be answered without its message; a panic in Rust is not an Exception.
            except BaseException as error:  # noqa: BLE001
                _log.error("unforeseen_error", error=type(error).__name__, where=where(error))
                await self._answer_unforeseen_error(scope, receive, answer)
            finally:
                self._record(scope, answer.status, time.perf_counter() - began)

    def _running(self, scope: Scope) -> AbstractContextManager[None]:
        return self._metrics.requests_running.track_inprogress() if scope["type"] == "http" else nullcontext()

    async def _answer_shutting_down(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        """Have the client retry elsewhere a request whose body, say, is still incomplete; uvicorn would answer 500."""
        error = ShuttingDownError()
        self._metrics.rejections.labels(error.code).inc()
        body = problem_of(error, scope["state"]["request_id"])
        await problem_answer(scope, body, headers_of(error))(scope, receive, answer.send)

    async def _answer_unforeseen_error(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        self._metrics.rejections.labels("internal_error").inc()
        if scope["type"] == "websocket":
            await answer.close(_UNFORESEEN)
        elif answer.status is None:
            detail = "an unexpected error occurred; the service's log has it under the request's id"
            body = problem(500, "internal_error", detail, scope["state"]["request_id"])
            await problem_answer(scope, body, {})(scope, receive, answer.send)

    def _record(self, scope: Scope, status: int | None, seconds: float) -> None:
        route, method = route_of(scope), method_of(scope)
        self._metrics.requests.labels(route, method, str(status or 499)).inc()
        if scope["type"] == "http":
            self._metrics.request_seconds.labels(route).observe(seconds)
        caller: Caller | None = scope["state"].get("caller")
        whose = {} if caller is None else {"key": caller.key_id}
        _log.info("request", method=method, route=route, status=status, seconds=round(seconds, 4), **whose)


class _Answer:
    """Passes an answer on with more header fields, and remembers its status."""

    def __init__(self, send: Send, headers: dict[str, str]) -> None:
        self._send = send
        self._headers = headers
        self._closed = False
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        kind = message["type"]
        if kind in ANSWER_STARTS or kind == "websocket.accept":
            self.status = message.get("status", _SWITCHED)
            message.setdefault("headers", [])
            MutableHeaders(scope=message).update(self._headers)
        elif kind == "websocket.close":
            self.status = self.status or _REFUSED
        self._closed = self._closed or kind in _CLOSES
        await self._send(message)

    async def close(self, code: int) -> None:
        """Close a WebSocket that is open, or refuse it."""
        if not self._closed:
            await self.send({"type": "websocket.close", "code": code})
