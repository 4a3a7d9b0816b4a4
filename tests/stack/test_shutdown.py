"""SIGTERM and SIGHUP: requests in flight are finished or handed back, and the process ends with status 0."""

import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support.client import measured, translate
from tests.support.servers import RedisServer, Replica, Replicas, bundle, children, eventually

HEARD = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, reason="nohup: nobody hears SIGHUP")


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=HEARD)])
def test_signal_drains(
    new_replicas: Replicas, redis_server: RedisServer, pool: ThreadPoolExecutor, tmp_path: Path, how: signal.Signals
) -> None:
    """Requests in flight are answered, no new ones are accepted, and the exit status is 0."""
    gate = tmp_path / "gate"
    replica = new_replicas.new(redis_url=redis_server.url).start()
    with replica.client() as client:
        in_flight = pool.submit(translate, client, f"wait-for:{gate}", "b")
        eventually(lambda: not measured(client, "antecedent_sentences_running 0.0"), "it is in the model")
        replica.send(how)
        eventually(lambda: _refuses(replica.url), "nothing new is accepted")
        gate.touch()
        assert in_flight.result().status_code == 200
    assert replica.wait() == 0


def test_drain_has_an_end(
    new_replicas: Replicas, redis_server: RedisServer, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """A request that never ends does not keep the process alive: after a while it gets a retryable error."""
    replica = new_replicas.new(redis_url=redis_server.url, drain_seconds="1").start()
    with replica.client() as client:
        endless = pool.submit(translate, client, f"wait-for:{tmp_path / 'never'}")
        eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "it is in the model")
        assert replica.end() == 0
        given_up = endless.result()
        assert (given_up.status_code, given_up.json()["code"]) == (503, "shutting_down")
        assert given_up.headers["retry-after"] == "1"
    assert "worker_died" not in replica.log  # it was ended on purpose, and is not replaced


def test_thread_that_is_busy_keeps_no_process(
    redis_server: RedisServer, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """A text that takes very long is given up like any other request, although a thread cannot be stopped."""
    settings = {"BUNDLES": str(bundle(tmp_path / "bundle")), "REDIS_URL": redis_server.url, "DRAIN_SECONDS": "1"}
    environment = {f"ANTECEDENT_{name}": value for name, value in settings.items()}
    with (
        closing(Replica(tmp_path, "tests.support.endless", environment).start()) as replica,
        replica.client() as client,
    ):
        body = {"source_lang": "ja", "target_lang": "en", "text": "か。" * 2000}
        endless = pool.submit(client.post, "/v1/documents", json=body)
        eventually(lambda: measured(client, "antecedent_requests_running 2.0"), "it is there, beside this one")
        assert replica.end() == 0
        assert (endless.result().status_code, endless.result().json()["code"]) == (503, "shutting_down")


def test_request_whose_body_does_not_come_is_handed_back(new_replicas: Replicas, redis_server: RedisServer) -> None:
    """Although it never waited for a worker, its client is asked to repeat it, and not told of an internal error."""
    replica = new_replicas.new(redis_url=redis_server.url, drain_seconds="1").start()
    url = httpx.URL(replica.url)
    with socket.create_connection((url.host, url.port)) as connection, replica.client() as client:
        head = b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
        eventually(lambda: measured(client, "antecedent_requests_running 2.0"), "it is there, beside this one")
        assert replica.end() == 0
        fields, body = b"".join(iter(lambda: connection.recv(1000), b"")).split(b"\r\n\r\n")
    assert fields.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 1" in fields
    assert b'"code":"shutting_down"' in body
    assert "CancelledError" not in replica.log


def test_signal_at_the_start(new_replicas: Replicas, redis_server: RedisServer) -> None:
    """If it is ended before it serves, the service prints no traceback and leaves no process behind."""
    replica = new_replicas.new(redis_url=redis_server.url)
    process = replica.spawn()
    eventually(lambda: bool(children(process.pid)), "it starts a worker")
    worker = Path(f"/proc/{children(process.pid)[0][0]}/cmdline")
    assert replica.end() == 0
    assert "Traceback" not in replica.log
    eventually(lambda: not worker.exists(), "the worker has ended")


def _refuses(url: str) -> bool:
    try:
        httpx.get(f"{url}/health/live", timeout=60, trust_env=False)
    except httpx.TransportError:
        return True
    return False
