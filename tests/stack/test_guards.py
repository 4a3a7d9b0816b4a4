"""Checks before every route, on a real server: bodies, header fields, and pages of other origins."""

import json
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.support.client import PAIR, begin
from tests.support.servers import RedisServer, Replica, Replicas
from tests.support.streams import connected

APP = "https://app.example.org"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica that pages of two other origins may use."""
    return shared_replicas.new(redis_url=redis_server.url, cors_origins=f"{APP}, https://other.example.org").start()


@pytest.mark.parametrize("path", ["/v1/models/", "/v1/info/", "/health/live/"])
def test_path_with_a_slash_too_many_is_not_found(client: httpx.Client, path: str) -> None:
    """It gets a problem like any other unknown path, not a redirect."""
    answer = client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health/live", 200),
        ("GET", "/v1/models", 200),
        ("GET", "/metrics", 200),
        ("GET", "/", 200),
        ("GET", "/page/main.js", 200),
        ("GET", "/docs", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/nothing", 404),
        ("GET", "/docsx", 404),
        ("GET", "/page/nothing", 404),
        ("PUT", "/", 405),
        ("PUT", "/v1/documents", 405),
        ("POST", "/v1/documents", 415),
        ("OPTIONS", "/v1/documents", 405),
    ],
)
def test_every_answer_has_security_headers(client: httpx.Client, method: str, path: str, status: int) -> None:
    """Other sites' pages can neither frame, sniff nor load an answer; only pages are cached, and revalidated."""
    answer = client.request(method, path)
    assert answer.status_code == status
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
    policy = dict(part.split(None, 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    of_page = path in {"/", "/page/main.js", "/docs"} and status == 200
    assert ("script-src" in policy) == of_page
    assert headers.get("cache-control") == ("no-cache" if of_page else "no-store")
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/docs", "/page/main.js", "/docs/assets/swagger-ui.css"])
def test_what_a_browser_has_of_a_page_is_not_sent_again(client: httpx.Client, path: str) -> None:
    """Browsers revalidate, since an update may have changed it; requests are counted by the page or its folder."""
    tag = client.get(path).headers["etag"]
    same = client.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["cache-control"]) == (304, b"", "no-cache")
    assert "script-src" in same.headers["content-security-policy"]
    route = path if path in {"/", "/docs"} else path.rpartition("/")[0]
    assert f'antecedent_requests_total{{method="GET",route="{route}",status="304"}}' in client.get("/metrics").text


def _with_bodies(client: httpx.Client) -> list[tuple[str, str]]:
    paths = client.get("/openapi.json").json()["paths"]
    return [
        (method, path.replace("{session_id}", "a" * 22).replace("{position}", "0"))
        for path, operations in paths.items()
        for method, operation in operations.items()
        if JSON["Content-Type"] in operation.get("requestBody", {}).get("content", {})
    ]


def test_every_body_is_strict_json(client: httpx.Client) -> None:
    """No operation accepts a body of another kind, whatever its declared type."""
    operations = _with_bodies(client)
    assert ("post", "/v1/documents") in operations
    for method, path in operations:
        form = client.request(method, path, content=b"a=1", headers=FORM)
        assert (form.status_code, form.json()["code"]) == (415, "unsupported_media_type")
        for malformed in (b'{"a": 1, "a": 2}', b""):
            answer = client.request(method, path, content=malformed, headers=JSON)
            assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


@pytest.mark.parametrize(("depth", "status"), [(16, 422), (17, 400), (1_000_000, 400)])
def test_deep_json_is_refused_before_it_is_parsed(client: httpx.Client, depth: int, status: int) -> None:
    """At most 16 levels get as far as the schema, which then refuses them."""
    body = b'{"text": "[", "a": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    answer = client.post("/v1/documents", content=body, headers=JSON)
    assert answer.status_code == status
    assert ("more than 16 deep" in answer.json()["detail"]) == (status == 400)


def test_announced_body_is_refused_before_it_is_sent(replica: Replica) -> None:
    """A client that announces too large a body is refused before it has sent any of it."""
    address = urlsplit(replica.url)
    with socket.create_connection((address.hostname, address.port or 80), timeout=60) as plain:
        fields = ["Host: localhost", "Content-Type: application/json", "Content-Length: 99999999"]
        plain.sendall("\r\n".join(["POST /v1/documents HTTP/1.1", *fields, "", ""]).encode())
        assert plain.recv(4096).startswith(b"HTTP/1.1 413 ")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's own")
def test_client_that_has_vanished_is_missed(replica: Replica) -> None:
    """A client that loses power closes no connection, so keep-alive is on: timer 2 means that, 0 means no timer."""
    with connected(replica.url) as connection:
        ends = [f":{end[1]:04X}" for end in (connection.getpeername(), connection.getsockname())]
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        (timer,) = [row[5] for row in rows if [row[1][-5:], row[2][-5:]] == ends]
    assert timer.startswith("02:")


def test_page_of_an_allowed_origin_may_call(client: httpx.Client) -> None:
    """The preflight request succeeds; the page may read answers, errors, and the fields that say when to retry."""
    asked = {
        "Origin": APP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type, idempotency-key, traceparent, x-request-id",
    }
    first = client.options("/v1/documents", headers=asked)
    assert (first.status_code, first.headers["access-control-allow-origin"]) == (200, APP)
    for method, path in (
        ("HEAD", "/v1/models"),
        ("PUT", "/v3/glossaries/a/dictionaries"),
        ("PATCH", "/v1/sessions/a/sentences/0"),
        ("DELETE", "/v1/sessions/a"),
    ):
        assert client.options(path, headers=asked | {"Access-Control-Request-Method": method}).status_code == 200
    for answer in (
        client.post("/v1/documents", json=PAIR | {"sentences": ["a"]}, headers={"Origin": APP}),
        client.post("/v1/documents", json={}, headers={"Origin": APP}),
    ):
        assert answer.headers["access-control-allow-origin"] == APP
        exposed = answer.headers["access-control-expose-headers"]
        assert {"RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-ID"} <= set(exposed.split(", "))
        assert "access-control-allow-credentials" not in answer.headers


def test_page_of_another_origin_may_not(client: httpx.Client) -> None:
    """Nothing in the answers would make its browser allow it."""
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert client.options("/v1/documents", headers=headers).status_code == 400
    assert "access-control-allow-origin" not in client.get("/v1/models", headers=headers).headers


def test_by_default_no_page_may(replicas: Replicas) -> None:
    """By default answers have no CORS headers, and only the service's own pages can open a WebSocket."""
    replica = replicas.new().start()
    with replica.client() as client:
        answer = client.get("/v1/models", headers={"Origin": APP})
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert _handshake(replica, begin(client), APP).status_code == 403
        assert _handshake(replica, begin(client), replica.url).status_code == 101


def test_without_keys_the_service_has_no_other_name(replica: Replica, client: httpx.Client) -> None:
    """A page whose host name was made to resolve to this machine is refused, over HTTP and WebSocket."""
    address = urlsplit(replica.url)
    assert client.get("/v1/models", headers={"Host": f"localhost:{address.port}"}).status_code == 200
    refused = client.get("/v1/models", headers={"Host": f"evil.example:{address.port}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "host_not_allowed")
    with socket.create_connection((address.hostname, address.port or 80), timeout=60) as plain:
        url = f"ws://evil.example:{address.port}{begin(client)}/stream"
        with pytest.raises(InvalidStatus, match="403"):
            connect(url, sock=plain, proxy=None)


def _handshake(replica: Replica, session: str, origin: str | None) -> Response:
    """The answer to a WebSocket handshake."""
    url = replica.url.replace("http", "ws") + f"{session}/stream"
    try:
        with connect(url, origin=None if origin is None else Origin(origin), proxy=None) as socket:
            assert socket.response is not None
            return socket.response
    except InvalidStatus as refused:
        return refused.response


@pytest.mark.parametrize(("origin", "status"), [(None, 101), (APP, 101), ("https://evil.example", 403), ("null", 403)])
def test_websocket_of_another_origin_is_refused(
    replica: Replica, client: httpx.Client, origin: str | None, status: int
) -> None:
    """A page cannot act on behalf of its visitor unless its origin is allowed; clients other than browsers may."""
    answer = _handshake(replica, begin(client), origin)
    assert answer.status_code == status
    assert "x-request-id" in answer.headers
    if status == 403:
        assert json.loads(answer.body or b"")["code"] == "origin_not_allowed"
        assert answer.headers["x-content-type-options"] == "nosniff"
