"""What probes see of a service from its start on, and what it says about itself."""

import socket
from pathlib import Path

import httpx
import pytest

from tests.support.servers import RedisServer, Replicas, bundle, eventually, free_port, workers


def test_nothing_listens_until_the_models_are_loaded(
    replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """While a model loads the port is taken, but a startup probe is refused; then it succeeds like the others."""
    folder = bundle(tmp_path / "slow")
    with socket.create_server(("127.0.0.1", 0)) as nobody:  # not reserved: the service itself must take it
        port = nobody.getsockname()[1]
    held = folder / "held"
    held.touch()
    replica = replicas.new(bundles=str(folder), redis_url=redis_server.url, port=str(port))
    process = replica.spawn()
    eventually(lambda: bool(workers(process.pid)), "a worker is loading")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/health/startup", trust_env=False)
    with socket.socket() as another, pytest.raises(OSError, match="in use"):
        another.bind(("127.0.0.1", port))
    held.unlink()
    assert process.stdout is not None
    assert f"http://127.0.0.1:{port}" in process.stdout.readline()
    for probe in ("startup", "live", "ready", "dependencies"):
        assert httpx.get(f"http://127.0.0.1:{port}/health/{probe}", trust_env=False).json()["status"] == "ok"
    for probe in ("startup", "live", "ready"):  # as by `wget --spider`
        assert httpx.head(f"http://127.0.0.1:{port}/health/{probe}", trust_env=False).status_code == 200


def test_replica_that_cannot_know_its_keys_is_alive_but_not_ready(replicas: Replicas) -> None:
    """If Redis is away at the start, a restart would not help, but no key can be checked."""
    replica = replicas.new(redis_url=f"redis://127.0.0.1:{free_port()}", keys="redis").start()
    with replica.client() as client:
        assert client.get("/health/startup").status_code == client.get("/health/live").status_code == 200
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["reasons"]) == (503, ["the keys have not been read yet"])
        found = client.get("/health/dependencies")
        assert found.status_code == 503
        assert [each["status"] for each in found.json()["dependencies"] if each["name"] == "redis"] == ["down"]


def test_head_is_a_get_without_the_body(replicas: Replicas, redis_server: RedisServer) -> None:
    """HEAD is supported wherever GET is (RFC 9110, 9.1), and `Allow` lists it."""
    replica = replicas.new(redis_url=redis_server.url).start()
    with replica.client() as client:
        pair = {"source_lang": "ja", "target_lang": "en"}
        session = client.post("/v1/sessions", json=pair).json()["session_id"]
        file = client.post("/v1/files", data=pair, files={"file": ("a.txt", b"a")}).json()["id"]
        assert client.get(f"/v1/files/{file}", params={"wait_seconds": 20}).json()["status"] == "done"
        described = [path for path, methods in client.get("/openapi.json").json()["paths"].items() if "get" in methods]
        for path in ("/", "/docs", *described):
            here = path.format(session_id=session, file_id=file)
            head = client.head(here)
            assert (here, head.status_code, head.content) == (here, 200, b"")
            assert head.headers["content-type"] == client.get(here).headers["content-type"]
            refused = client.put(here)
            assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")
            assert {"GET", "HEAD"} <= set(refused.headers["allow"].split(", "))
            assert refused.json()["detail"] == f"this path supports {refused.headers['allow']}"


def test_service_says_what_it_accepts(replicas: Replicas, redis_server: RedisServer) -> None:
    """The limits of the settings are published, so that a client need not discover them by being refused."""
    replica = replicas.new(redis_url=redis_server.url, max_body_bytes="12345", max_document_sentences="7").start()
    with replica.client() as client:
        info = client.get("/v1/info").json()
    assert info["version"]
    assert (info["limits"]["max_body_bytes"], info["limits"]["max_document_sentences"]) == (12345, 7)
    assert (info["limits"]["max_session_sentences"], info["limits"]["stream_in_flight"]) == (10_000, 32)
