"""The middleware around every request, on a small test application."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.types import Message, Receive, Scope, Send

from service.errors import QueueFullError
from service.http import handlers
from service.http.middleware import RequestMiddleware
from service.telemetry.metrics import Metrics

SECRET = "himitsu"


class Panic(BaseException):
    """Like the exception that a library in Rust raises."""


@pytest.fixture
def metrics() -> Metrics:
    """The application's metrics."""
    return Metrics()


@pytest.fixture
def client(metrics: Metrics) -> httpx.AsyncClient:
    """A client of an application whose routes fail in different ways."""
    app = FastAPI()
    app.add_middleware(RequestMiddleware, metrics=metrics, new_id=lambda: "made-here")
    handlers.install(app, metrics)

    @app.get("/v2/bug/{number}")
    @app.get("/bug/{number}")
    async def bug(number: int) -> None:
        raise ZeroDivisionError(f"{SECRET} {number}")

    @app.get("/panic")
    async def panic() -> None:
        raise Panic(SECRET)

    @app.get("/full")
    async def full() -> None:
        raise QueueFullError

    @app.get("/limited")
    async def limited(request: Request) -> None:
        request.state.answer_headers["RateLimit"] = "some"
        raise QueueFullError

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.mark.parametrize(
    ("given", "kept"), [("abc-1", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("", False)]
)
async def test_id_of_the_client_is_kept_if_it_is_short_and_plain(
    client: httpx.AsyncClient, given: str, kept: bool
) -> None:
    """Otherwise a client could write whatever it likes into the log."""
    answer = await client.get("/full", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == (given if kept else "made-here")


async def test_bug_is_a_problem_without_its_message(client: httpx.AsyncClient, metrics: Metrics) -> None:
    """The answer to an unforeseen error has the request's id, but not the error's message."""
    answer = await client.get("/bug/7")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["request_id"]) == ("internal_error", "made-here")
    assert SECRET not in answer.text
    assert b'requests_total{method="GET",route="/bug/{number}",status="500"} 1.0' in metrics.render()


async def test_bug_below_the_paths_of_deepl_is_told_as_deepl_does(client: httpx.AsyncClient) -> None:
    """DeepL's clients read only `message` and `detail`; neither reveals what went wrong inside."""
    answer = await client.get("/v2/bug/3")
    assert (answer.status_code, answer.json()["message"]) == (500, "Internal error")
    assert "the service's log" in answer.json()["detail"]
    assert SECRET not in answer.text


async def test_panic_is_a_problem_too(client: httpx.AsyncClient, metrics: Metrics) -> None:
    """Even a BaseException is answered and counted like any other unforeseen error."""
    answer = await client.get("/panic")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert SECRET not in answer.text
    assert b'rejections_total{code="internal_error"} 1.0' in metrics.render()


async def test_bug_amid_an_answer_or_a_websocket_is_counted(metrics: Metrics) -> None:
    """An answer that has begun can no longer become an error, but the metrics show that there was one."""

    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        begun = {"http": {"type": "http.response.start", "status": 200}, "websocket": {"type": "websocket.accept"}}
        await send(begun[scope["type"]])
        raise ZeroDivisionError

    async def receive() -> Message:
        raise AssertionError

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    guarded = RequestMiddleware(fails, metrics=metrics, new_id=lambda: "made-here")
    for kind in ("http", "websocket"):
        await guarded({"type": kind, "headers": [], "method": "GET", "path": "/"}, receive, send)
    assert (sent[-1]["type"], sent[-1]["code"]) == ("websocket.close", 1011)
    assert b'rejections_total{code="internal_error"} 2.0' in metrics.render()


@pytest.mark.parametrize("begun", [False, True])
async def test_request_that_the_server_ends(metrics: Metrics, begun: bool) -> None:
    """A 503 tells the client to retry elsewhere; an answer that has already begun just breaks off."""
    running = asyncio.Event()

    async def route(_scope: Scope, _receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200})
        running.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        raise AssertionError

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    guarded = RequestMiddleware(route, metrics=metrics, new_id=lambda: "made-here")
    request = asyncio.create_task(
        guarded({"type": "http", "headers": [], "method": "POST", "path": "/"}, receive, send)
    )
    await running.wait()
    request.cancel()
    await asyncio.wait([request])
    statuses = [message["status"] for message in sent if message["type"] == "http.response.start"]
    assert (statuses, request.cancelled()) == (([200], True) if begun else ([503], False))


async def test_errors_on_purpose_have_their_headers(client: httpx.AsyncClient, metrics: Metrics) -> None:
    """A retryable error says when to retry, and is counted by its code."""
    answer = await client.get("/full", headers={"X-Request-ID": "mine"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "mine"
    assert b'rejections_total{code="queue_full"} 1.0' in metrics.render()


async def test_wrong_parameters_are_named_and_not_repeated(client: httpx.AsyncClient) -> None:
    """The detail names the parameter but not its value."""
    answer = await client.get(f"/bug/{SECRET}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert "path.number" in answer.json()["detail"]
    assert SECRET not in answer.text


async def test_labels_do_not_grow_with_what_is_asked_for(client: httpx.AsyncClient, metrics: Metrics) -> None:
    """All unknown paths share one label, and so do all unknown methods."""
    for method, path in (("GET", "/a"), ("GET", "/b"), ("BREW", "/full"), ("BOIL", "/full")):
        await client.request(method, path)
    assert b'requests_total{method="GET",route="none",status="404"} 2.0' in metrics.render()
    assert b'requests_total{method="other",route="/full",status="405"} 2.0' in metrics.render()
    assert b"BREW" not in metrics.render()


async def test_answer_gets_the_fields_that_its_route_has_left(client: httpx.AsyncClient) -> None:
    """Header fields that a route sets, such as the quota, are sent even if the answer is an error."""
    answer = await client.get("/limited")
    assert (answer.status_code, answer.headers["ratelimit"]) == (429, "some")


async def _converse(metrics: Metrics, *messages: Message) -> list[Message]:
    """The messages that a WebSocket's client gets if its route sends these and then fails."""
    sent: list[Message] = []

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        raise ZeroDivisionError(SECRET)

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "websocket", "headers": [(b"x-request-id", b"mine")]}
    await RequestMiddleware(route, metrics=metrics, new_id=str)(scope, receive, send)
    return sent


async def test_websocket_is_accounted_for(metrics: Metrics) -> None:
    """The handshake carries the request's id, a WebSocket counts as a request, and a bug closes it with 1011."""
    accepted, closed = await _converse(metrics, {"type": "websocket.accept", "headers": []})
    assert accepted["headers"] == [(b"x-request-id", b"mine")]
    assert closed == {"type": "websocket.close", "code": 1011}
    assert b'requests_total{method="WEBSOCKET",route="none",status="101"} 1.0' in metrics.render()
    assert b"request_seconds_count" not in metrics.render()


async def test_websocket_that_was_never_opened(metrics: Metrics) -> None:
    """A bug before the handshake closes it once; one after the close sends no second close."""
    assert await _converse(metrics) == [{"type": "websocket.close", "code": 1011}]
    close = {"type": "websocket.close", "code": 1000}
    assert await _converse(metrics, {"type": "websocket.accept"}, close) == [
        {"type": "websocket.accept", "headers": [(b"x-request-id", b"mine")]},
        close,
    ]
    assert b'requests_total{method="WEBSOCKET",route="none",status="403"} 1.0' in metrics.render()
