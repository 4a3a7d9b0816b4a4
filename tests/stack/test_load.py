"""One replica under stress: dying workers, a full queue, clients that leave. Its batches have one sentence."""

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from redis import Redis

from service.store.document import DocumentKey
from tests.support.client import begin, measured, say, translate
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually, workers
from tests.support.stand_in import expected

Occupy = Callable[[], Future[httpx.Response]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle that no other replica serves."""
    return bundle(tmp_path / "bundle")


@pytest.fixture
def replica(replicas: Replicas, redis_server: RedisServer, folder: Path) -> Replica:
    """A replica with one worker and room for two waiting sentences.

    Each test has its own: a replica waits twice as long each time that it replaces a worker.
    """
    little = {"queue_limit": "2", "batch_sentences": "1"}
    return replicas.new(redis_url=redis_server.url, bundles=str(folder), **little).start()


@pytest.fixture
def client(replica: Replica) -> Iterator[httpx.Client]:
    """A client of the replica, once its worker is alive."""
    with replica.client() as client:
        eventually(lambda: client.get("/health/ready").status_code == 200, "a worker is alive")
        yield client


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file for which a sentence may wait."""
    return tmp_path / "gate"


@pytest.fixture
def busy(client: httpx.Client, pool: ThreadPoolExecutor, gate: Path) -> Future[httpx.Response]:
    """A request that keeps the worker busy until the gate exists."""
    request = pool.submit(translate, client, f"wait-for:{gate}")
    eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "the worker is busy")
    return request


def test_full_queue(client: httpx.Client, pool: ThreadPoolExecutor, gate: Path, busy: Future[httpx.Response]) -> None:
    """Requests that do not fit into the queue get a 429 at once; admitted ones are answered."""
    session = begin(client)
    body = {"source_lang": "ja", "target_lang": "en"}
    admitted = [busy, *(pool.submit(translate, client, text) for text in "ab")]
    full = 'antecedent_sentences_waiting{priority="interactive"} 2.0'
    eventually(lambda: measured(client, full), "the queue is full")
    for refused in (translate(client, "c"), say(client, session, "一", 0), client.post("/v1/sessions", json=body)):
        assert (refused.status_code, refused.json()["code"]) == (429, "queue_full")
        assert refused.headers["retry-after"] == "1"
    assert client.get(session).json()["next_position"] == 0
    gate.touch()
    assert [answer.result().status_code for answer in admitted] == [200, 200, 200]
    assert say(client, session, "一", 0).status_code == 200


def test_client_that_disconnects(
    replica: Replica, client: httpx.Client, gate: Path, busy: Future[httpx.Response]
) -> None:
    """Its sentence leaves the queue and the session, and others are served."""
    session = begin(client)
    body = json.dumps({"text": "一", "position": 0}).encode()
    head = f"POST {session}/sentences HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    url = httpx.URL(replica.url)
    with socket.create_connection((url.host, url.port or 0)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        eventually(
            lambda: measured(client, 'antecedent_sentences_waiting{priority="interactive"} 1.0'), "the sentence waits"
        )
        assert client.get(session).json()["next_position"] == 1
    eventually(lambda: client.get(session).json()["next_position"] == 0, "the sentence is taken back")
    assert measured(client, 'antecedent_sentences_waiting{priority="interactive"} 0.0')
    gate.touch()
    assert busy.result().status_code == 200
    assert say(client, session, "二", 0).status_code == 200


def test_worker_killed_in_the_middle_of_a_request(replica: Replica, client: httpx.Client, tmp_path: Path) -> None:
    """The request is answered by another worker, and the dead one is replaced."""
    (victim,), before = workers(replica.pid), _restarts(client)
    text = f"crash-once:{tmp_path / 'mark'}"
    answer = translate(client, "a", text, "b")
    assert answer.status_code == 200
    assert answer.json()["sentences"][2]["translation"] == expected("b", ["a", text])
    assert workers(replica.pid) not in ([], [victim])
    assert _restarts(client) == before + 1


def _restarts(client: httpx.Client) -> float:
    """How many workers have been replaced."""
    found = re.search(r"^antecedent_worker_restarts_total (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


def test_sentence_that_kills_workers_is_given_up(client: httpx.Client) -> None:
    """After it has killed two workers the client gets a clear error, and others are served."""
    answer = translate(client, "crash")
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (500, "worker_died", False)
    assert translate(client, "a").status_code == 200


def test_sentence_that_kills_workers_is_not_tried_anew_for_who_waits(
    client: httpx.Client, pool: ThreadPoolExecutor, redis_server: RedisServer, gate: Path
) -> None:
    """A repetition that was waiting gets an error about the failure, and costs no further worker."""
    session, text, before = begin(client), f"wait-for:{gate} crash", _restarts(client)
    _, entries, _ = DocumentKey("default", session.rpartition("/")[2]).names()
    first = pool.submit(say, client, session, text, 0)
    eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "a worker has it")
    with Redis.from_url(redis_server.url) as redis:
        again = pool.submit(say, client, session, text, 0)
        eventually(lambda: redis.hexists(entries, "w0"), "the repetition waits")
    gate.touch()
    assert (first.result().status_code, first.result().json()["code"]) == (500, "worker_died")
    told = again.result()
    assert (told.status_code, told.json()["code"], told.json()["failed_position"]) == (409, "sentence_failed", 0)
    assert translate(client, "a").status_code == 200
    assert _restarts(client) == before + 2


def test_no_worker_is_not_ready(replica: Replica, client: httpx.Client, folder: Path) -> None:
    """While no worker is alive, the replica is not ready, but still alive."""
    (folder / "held").touch()
    (worker,) = workers(replica.pid)
    os.kill(worker, signal.SIGKILL)
    found: list[httpx.Response] = []

    def gone() -> bool:
        found.append(client.get("/health/ready"))
        return found[-1].status_code == 503

    eventually(gone, "readiness is gone")
    assert found[-1].json()["reasons"] == ["no worker of stand-in is alive"]
    assert client.get("/health/live").status_code == 200
    (folder / "held").unlink()
    eventually(lambda: client.get("/health/ready").status_code == 200, "a worker is alive again")


def test_deadline(replicas: Replicas, redis_server: RedisServer, gate: Path) -> None:
    """A sentence that is not translated in time gets a 504, and can be sent again at its position."""
    text = f"wait-for:{gate}"
    with replicas.new(redis_url=redis_server.url, deadline_seconds="0.3").start().client() as client:
        session = begin(client)
        late = say(client, session, text, 0)
        assert (late.status_code, late.json()["code"], late.headers["retry-after"]) == (504, "deadline_exceeded", "5")
        gate.touch()
        eventually(lambda: say(client, session, text, 0).status_code == 200, "it is translated")
