"""Framework errors as problems."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from service.http import handlers
from service.http.middleware import RequestMiddleware
from service.schemas.documents import DocumentRequest
from service.telemetry.metrics import Metrics


@pytest.fixture
def client() -> httpx.AsyncClient:
    """A client of an application with one route."""
    app, metrics = FastAPI(), Metrics()
    handlers.install(app, metrics)
    app.add_middleware(RequestMiddleware, metrics=metrics, new_id=lambda: "id")

    @app.post("/")
    async def take(body: DocumentRequest) -> str:
        return body.source_lang

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"sentences": ["a", 1]}, "body.sentences.1: Input should be a valid string"),
        ({"text": "a", "lang": "ja"}, "body.lang: unknown member"),
        ({"text": "a", "秘密の文。": 1}, "body.?: unknown member"),
        ({"text": "a", "a secret sentence": 1}, "body.?: unknown member"),
        ({"text": "a", "x" * 5000: 1}, "body.?: unknown member"),
        ({"text": 1, **dict.fromkeys("abcdef", 1)}, "and 2 more"),
    ],
)
async def test_detail_names_what_is_wrong(client: httpx.AsyncClient, body: dict[str, Any], detail: str) -> None:
    """The detail names members, unless a name might be a user's text; it lists five at most."""
    answer = await client.post("/", json={"source_lang": "ja", "target_lang": "en"} | body)
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(detail)
