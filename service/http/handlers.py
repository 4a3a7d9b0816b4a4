"""Exception handlers, which answer every error that a route lets through with a problem."""

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from models.errors import AntecedentError
from service.errors import InvalidInputError
from service.http.answers import problem_answer
from service.http.middleware import route_of
from service.http.problems import HTTP_CODES, headers_of, mistake, problem, problem_of
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import note_error

_MOST_DETAILS = 5


def install(app: FastAPI, metrics: Metrics) -> None:
    """Answer every error that is raised on purpose, by this project or by the frameworks, with a problem."""

    @app.exception_handler(AntecedentError)
    async def on_purpose(request: Request, error: AntecedentError) -> Response:
        return _answer(request.scope, problem_of(error, request.state.request_id), headers_of(error), metrics)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return await on_purpose(request, InvalidInputError(_details(error)))

    @app.exception_handler(HTTPException)
    async def by_framework(request: Request, error: HTTPException) -> Response:
        code = HTTP_CODES.get(error.status_code, "http_error")
        body = problem(error.status_code, code, error.detail, request.state.request_id)
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers |= _allowed(app, route_of(request.scope))
            body["detail"] = f"this path supports {headers.get('Allow', 'other methods')}"
        return _answer(request.scope, body, headers, metrics)

    # At a path that does not exist, Starlette refuses a WebSocket with a bare 403, as if the key were wrong.
    app.router.default = _nothing_there


async def refuse(error: AntecedentError, metrics: Metrics, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request or a WebSocket's handshake with an error that occurred before any route."""
    answer = _answer(scope, problem_of(error, scope["state"]["request_id"]), headers_of(error), metrics)
    await answer(scope, receive, send)


async def _nothing_there(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise HTTPException(404, "there is nothing at this path: see /docs or /openapi.json for the paths that exist")


def _answer(scope: Scope, body: dict[str, Any], headers: dict[str, str], metrics: Metrics) -> Response:
    metrics.rejections.labels(body["code"]).inc()
    note_error(body["code"])
    return problem_answer(scope, body, headers)


def _allowed(app: FastAPI, route: str) -> dict[str, str]:
    """Return `Allow` with every method of a path; Starlette names only those of its first route."""
    methods = {method.upper() for method in app.openapi()["paths"].get(route, {})}
    methods |= {"HEAD"} if "GET" in methods else set()  # which the document leaves out
    return {"Allow": ", ".join(sorted(methods))} if methods else {}


def _details(error: RequestValidationError) -> str:
    found = [mistake(each) for each in error.errors()]
    more = [f"and {len(found) - _MOST_DETAILS} more"] if len(found) > _MOST_DETAILS else []
    return "; ".join(found[:_MOST_DETAILS] + more)
