"""Who may reach the routes, on a small test application."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request

from service.access.key_file import KeyFile
from service.access.keyring import Keyring
from service.http.authentication import AuthenticationMiddleware, presented_key
from service.http.middleware import RequestMiddleware
from service.telemetry.metrics import Metrics
from tests.support.keys import made


@pytest.fixture
async def application(tmp_path: Path) -> FastAPI:
    """An application with one path below /v1/ and one outside it; `app.state.key` is its only key."""
    metrics = Metrics()
    app = FastAPI()
    app.state.key, record = made("acme")
    file = KeyFile(tmp_path / "keys.json")
    await file.add(record)
    app.state.access = Keyring(file, outage_seconds=9, clock=lambda: 0, now=lambda: datetime.now(UTC), metrics=metrics)
    await app.state.access.refresh()
    app.add_middleware(AuthenticationMiddleware, metrics=metrics)
    app.add_middleware(RequestMiddleware, metrics=metrics, new_id=lambda: "made-here")

    @app.post("/v1/tenant")
    async def tenant(request: Request) -> str:
        name: str = request.state.caller.tenant
        return name

    @app.get("/open")
    async def anyone() -> str:
        return "come in"

    return app


@pytest.fixture
async def client(application: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://test") as made_client:
        yield made_client


async def test_routes_know_the_caller(client: httpx.AsyncClient, application: FastAPI) -> None:
    """Below /v1/ the caller's tenant is that of the key; elsewhere no key is needed."""
    answer = await client.post("/v1/tenant", headers={"Authorization": f"Bearer {application.state.key}"})
    assert answer.json() == "acme"
    assert (await client.get("/open")).json() == "come in"


async def test_body_without_a_key_is_not_read(client: httpx.AsyncClient) -> None:
    """The answer, a problem with the request's id, comes before any of the body has been read."""
    read = False

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b"{"

    answer = await client.post("/v1/tenant", content=body())
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert answer.json()["request_id"] == "made-here"
    assert not read


async def test_paths_that_do_not_exist_look_like_those_that_do(client: httpx.AsyncClient) -> None:
    """Without a key nobody learns which paths and methods exist."""
    answers = [await client.post("/v1/tenant"), await client.get("/v1/tenant"), await client.get("/v1/nothing")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(401, answers[0].text)}
    assert (await client.get("/v2/nothing")).status_code == 403  # DeepL's status


@pytest.mark.parametrize(
    ("headers", "subprotocols", "found"),
    [
        ([], [], None),
        ([(b"authorization", b"Bearer abc")], [], "abc"),
        ([(b"authorization", b"bEARER abc")], ["antecedent.key.xyz"], "abc"),
        ([(b"authorization", b"Basic abc")], [], None),
        ([(b"authorization", b"Basic abc")], ["antecedent.v1", "antecedent.key.xyz"], "xyz"),
        ([(b"authorization", b"Bearer")], [], None),
        ([], ["antecedent.key."], ""),
        ([], ["antecedent.v1"], None),
        ([(b"authorization", b"Bearer \xff")], [], "ÿ"),
    ],
)
def test_where_a_key_can_stand(headers: list[tuple[bytes, bytes]], subprotocols: list[str], found: str | None) -> None:
    """In the Authorization header, which takes precedence, or among a WebSocket's subprotocols."""
    assert presented_key({"type": "websocket", "headers": headers, "subprotocols": subprotocols}) == found
