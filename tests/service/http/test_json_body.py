"""Request bodies: which are taken for JSON, and how others are refused."""

import gzip
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from service.errors import ClientLeftError
from service.http.json_body import StrictRoute, is_json
from service.strict_json import JsonLimits


@pytest.mark.parametrize(
    ("content_type", "is_it"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/problem+json", True),
        ("", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("text/json", False),
        ("application/json-seq", False),
    ],
)
def test_content_type_of_json(content_type: str, is_it: bool) -> None:
    """Only a body that is declared as JSON is read as JSON."""
    assert is_json(content_type) is is_it


@pytest.fixture
def client() -> httpx.AsyncClient:
    """A client of an application with one strict route."""
    app = FastAPI()
    app.state.json_limits = JsonLimits(depth=16, values=100)
    router = APIRouter(route_class=StrictRoute)

    @router.post("/")
    async def count(body: dict[str, Any]) -> int:
        return len(body)

    @router.delete("/")
    async def nothing() -> None:
        return None

    app.include_router(router)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def test_client_that_leaves_while_it_sends(client: httpx.AsyncClient) -> None:
    """Such a client has made no mistake, and is not counted as if it had."""
    assert isinstance(client._transport, httpx.ASGITransport)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"100")]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    parts = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(parts)

    async def send(_message: object) -> None:
        """Nobody reads it."""

    with pytest.raises(ClientLeftError):
        await client._transport.app(scope, receive, send)


async def test_route_reads_strictly(client: httpx.AsyncClient) -> None:
    """Good bodies reach the route; others are refused for their type or content; a route without a body needs none."""
    headers = {"Content-Type": "application/json"}
    assert (await client.post("/", json={"a": 1})).json() == 1
    refused = await client.post("/", content=b'{"a": NaN}', headers=headers)
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "the body has NaN or Infinity, which are not JSON",
    )
    assert (await client.post("/", content=b'{"a": 1}', headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await client.post("/", content=b'{"a": 1}')).status_code == 415
    packed = await client.post("/", content=gzip.compress(b'{"a": 1}'), headers=headers | {"Content-Encoding": "gzip"})
    assert (packed.status_code, packed.headers["accept-encoding"]) == (415, "identity")
    assert (await client.delete("/")).status_code == 200
