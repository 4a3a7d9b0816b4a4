"""Documents as server-sent events, on a real server with clients that leave, read slowly, or share the queue."""

import json
import os
import re
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.client import PAIR, begin, measured, say, translate
from tests.support.events import ACCEPT, document_events, rebuilt
from tests.support.servers import RedisServer, Replica, Replicas, bundle, eventually
from tests.support.stand_in import expected

NOTHING_WAITS = 'antecedent_sentences_waiting{priority="bulk"} 0.0'
NOTHING_RUNS = "antecedent_sentences_running 0.0"


@pytest.fixture(scope="module")
def replica(
    shared_replicas: Replicas,
    redis_server: RedisServer,
    stand_in_bundle: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Replica:
    """A replica with one worker, a second model that reads target context, and room in the queue for long documents."""
    reader = bundle(tmp_path_factory.mktemp("bundles") / "reader", name="reader", reads_target_context=True)
    return shared_replicas.new(
        redis_url=redis_server.url,
        bundles=os.pathsep.join(map(str, [stand_in_bundle, reader])),
        batch_sentences="8",
        document_concurrency="400",
        queue_limit="2000",
    ).start()


@pytest.fixture(scope="module")
def restless(shared_replicas: Replicas, redis_server: RedisServer) -> Replica:
    """A replica that sends keep-alive comments at short intervals."""
    return shared_replicas.new(redis_url=redis_server.url, batch_sentences="1", stream_ping_seconds="0.2").start()


def translated(client: httpx.Client) -> int:
    """How many sentences the replica has translated."""
    found = re.search(r"^antecedent_sentences_total (\d+)", client.get("/metrics").text, re.MULTILINE)
    return int(found[1]) if found else 0


def idle(client: httpx.Client) -> bool:
    """Whether nothing is waiting or being translated."""
    return measured(client, NOTHING_WAITS) and measured(client, NOTHING_RUNS)


def connect(replica: Replica, **members: object) -> socket.socket:
    """Request a document as events, over a socket with a small receive buffer."""
    body = json.dumps(PAIR | members).encode()
    head = "POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
    url = httpx.URL(replica.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.connect((url.host, url.port or 0))
    length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall((head + length).encode() + body)
    return connection


@pytest.mark.parametrize("members", [{}, {"model": "reader"}, {"strategy": "sentence"}])
def test_events_make_up_the_whole_answer(client: httpx.Client, members: dict[str, str]) -> None:
    """The same sentences come in the same order as in the whole answer, and their text can be rebuilt exactly."""
    document = {"text": "# 題。\r\n\r\n　・一つ。二つ。\n🙂\n1. 三つ。\n", "context": ["前。"]} | members
    whole = client.post("/v1/documents", json=PAIR | document).json()
    with document_events(client, **document) as stream:
        events = list(stream)
    assert rebuilt(events) == whole["text"]
    assert [{name: data[name] for name in data if name != "before"} for _, data in events[:-1]] == whole["sentences"]
    assert [kind for kind, _ in events] == ["sentence"] * 4 + ["done"]
    assert events[-1][1]["model"] == whole["model"]


def test_fields_of_one_name_are_one_list(client: httpx.Client) -> None:
    """Events may be requested in the second of two `Accept` fields (RFC 9110, 5.3)."""
    accept = [("Accept", "application/json;q=0.1"), ("Accept", "text/event-stream")]
    answer = client.post("/v1/documents", json=PAIR | {"sentences": ["a"]}, headers=accept)
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_every_event_is_one_line_however_lines_are_told_apart(client: httpx.Client) -> None:
    """JavaScript's `.` stops at U+2028 and Python's `splitlines` at U+0085, so the stream never contains them."""
    text = "一。\u2028二。\u2029三\x85四。"
    with client.stream("POST", "/v1/documents", json=PAIR | {"text": text}, headers=ACCEPT) as answer:
        data = [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]
    *sentences, _ = data
    assert [sentence["source"] for sentence in sentences] == ["一。", "二。", "三", "四。"]
    assert [sentence["before"] for sentence in sentences] == ["", "\u2028", "\u2029", "\x85"]


@pytest.mark.parametrize("text", ["", " \n", "🙂"])
def test_document_without_sentences_has_an_end(client: httpx.Client, text: str) -> None:
    """If there is nothing to translate, the document is done at once."""
    with document_events(client, text=text) as stream:
        ((kind, data),) = stream
    assert (kind, data["sentences"], data["after"]) == ("done", 0, text)


def test_headers_keep_proxies_from_holding_events_back(client: httpx.Client) -> None:
    """It is not compressed, and proxies may neither cache, buffer nor compress it; the request's id is present."""
    with client.stream("POST", "/v1/documents", json=PAIR | {"text": "一。"}, headers=ACCEPT) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        assert "no-store" in answer.headers["cache-control"]
        assert "no-transform" in answer.headers["cache-control"]
        assert "gzip" in answer.request.headers["accept-encoding"]
        assert "content-encoding" not in answer.headers
        assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json",
        "text/html, application/xml;q=0.9",
        "application/json, text/event-stream;q=0",
        "application/json, text/event-stream;q=0.5",
        "text/event-stream;q=0.5, application/*",
        "text/event-stream;q=0.5, */*",
    ],
)
def test_whole_answer_is_the_default(client: httpx.Client, accept: str) -> None:
    """Only clients that ask for events get them."""
    answer = client.post("/v1/documents", json=PAIR | {"text": "一。"}, headers={"Accept": accept})
    assert answer.json()["sentences"][0]["translation"] == "一。"


def test_target_context_is_that_of_the_document(client: httpx.Client) -> None:
    """Each sentence is read with the translations of the previous ones; the given context has none."""
    with document_events(client, sentences=["a", "b", "c"], context=["x"], model="reader") as stream:
        translations = [data["translation"] for kind, data in stream if kind == "sentence"]
    assert translations == [
        expected("a", ["x"], [None]),
        expected("b", ["x", "a"], [None, "A"]),
        expected("c", ["a", "b"], ["A", "B"]),
    ]


def test_documents_with_target_context_share_batches(
    client: httpx.Client, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """Their sentences are sent one at a time, but together with those of other documents."""
    batches = "antecedent_batch_sentences_count"
    blocked = pool.submit(translate, client, f"wait-for:{tmp_path / 'gate'}", model="reader")
    eventually(lambda: measured(client, "antecedent_sentences_running 1.0"), "the worker is busy")
    others = [pool.submit(translate, client, *"abc", model="reader") for _ in range(3)]
    eventually(lambda: measured(client, "antecedent_sentences_running 4.0"), "it has one sentence of each")
    before = _number(client, batches)
    (tmp_path / "gate").touch()
    assert [len(document.result().json()["sentences"]) for document in [blocked, *others]] == [1, 3, 3, 3]
    assert _number(client, batches) - before < 6


def _number(client: httpx.Client, name: str) -> float:
    return sum(float(line.split()[-1]) for line in client.get("/metrics").text.splitlines() if line.startswith(name))


def test_wait_for_the_first_sentence_is_measured(client: httpx.Client) -> None:
    """It is measured once for each document with sentences that is streamed, but not for whole answers."""
    count = "antecedent_first_sentence_seconds_count"
    before = _number(client, count)
    for document in ({"sentences": ["a", "b"]}, {"text": "一。"}, {"text": ""}):
        with document_events(client, **document) as stream:
            assert list(stream)[-1][0] == "done"
    translate(client, "a")
    assert _number(client, count) == before + 2


def test_comments_keep_the_connection_alive(restless: Replica, tmp_path: Path) -> None:
    """Comments are sent while no sentence is ready, both before and after the first sentence."""
    gates = [tmp_path / "first", tmp_path / "second"]
    body = PAIR | {"sentences": [f"wait-for:{gate}" for gate in gates]}
    with restless.client() as client, client.stream("POST", "/v1/documents", json=body, headers=ACCEPT) as answer:
        lines = (line for line in answer.iter_lines() if line)
        for gate in gates:
            assert next(lines).startswith(":")
            gate.touch()
            assert next(line for line in lines if not line.startswith(":")) == "event: sentence"
            assert next(lines).startswith("data: ")
        assert next(line for line in lines if not line.startswith(":")) == "event: done"


@pytest.mark.parametrize(
    ("members", "code"),
    [({"sentences": ["refuse", "b"]}, "invalid_request"), ({"text": "a", "model": "other"}, "model_not_found")],
)
def test_error_before_the_first_sentence_is_a_problem(
    client: httpx.Client, members: dict[str, object], code: str
) -> None:
    """As long as no status has been sent, an error sets it."""
    answer = client.post("/v1/documents", json=PAIR | members, headers=ACCEPT)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (answer.json()["status"], code)
    assert answer.json().get("position") == (0 if code == "invalid_request" else None)


def test_error_before_the_first_sentence_that_comes_late_is_an_event(restless: Replica, tmp_path: Path) -> None:
    """Comments have already begun the answer with status 200, so the status of the error is in the problem."""
    body = PAIR | {"sentences": [f"wait-for:{tmp_path / 'gate'} raise", "b"]}
    with restless.client() as client, client.stream("POST", "/v1/documents", json=body, headers=ACCEPT) as answer:
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, ACCEPT["Accept"])
        (tmp_path / "gate").touch()
        kind, data = [line for line in answer.iter_lines() if line and not line.startswith(":")]
    problem = json.loads(data.removeprefix("data: "))
    assert (kind, problem["status"], problem["code"]) == ("event: error", 500, "worker_died")


def test_error_after_sentences_comes_in_their_place(client: httpx.Client) -> None:
    """The sentences before it have been sent; the problem gives its position, and nothing follows."""
    rejected = 'antecedent_rejections_total{code="invalid_request"}'
    before = _number(client, rejected)
    with document_events(client, sentences=[*"abcdefghij", "refuse", *"klm"]) as stream:
        *sentences, (kind, problem) = stream
    assert [data["source"] for _, data in sentences] == list("abcdefghij")
    assert (kind, problem["code"], problem["status"], problem["position"]) == ("error", "invalid_request", 422, 10)
    assert problem["request_id"]
    assert _number(client, rejected) == before + 1
    assert idle(client)


def test_client_that_leaves_takes_its_document_with_it(replica: Replica, client: httpx.Client, tmp_path: Path) -> None:
    """Its waiting sentences leave the queue at once, even while the worker is busy with an earlier one."""
    gate = tmp_path / "gate"
    before = translated(client)
    with connect(replica, sentences=[*"abcdefghi", f"wait-for:{gate}", *("x" for _ in range(300))]) as connection:
        eventually(lambda: translated(client) == before + 9, "the first sentence and a batch are done")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        assert not measured(client, NOTHING_WAITS)
    eventually(lambda: measured(client, NOTHING_WAITS), "nothing waits")
    assert not measured(client, NOTHING_RUNS)
    gate.touch()
    eventually(lambda: idle(client), "the worker is free")
    assert translated(client) == before + 17


def test_slow_reader_holds_up_nobody_but_itself(replica: Replica, client: httpx.Client) -> None:
    """While it does not read, its document stands still and others are served; in the end it gets everything."""
    sentences = [f"{number:04} " + "x" * 895 for number in range(4000)]
    before = translated(client)
    with connect(replica, sentences=sentences) as connection:
        received = bytearray(connection.recv(4096))
        eventually(lambda: idle(client), "the document stands still")
        assert translated(client) - before < 3600
        assert translate(client, "a").status_code == 200
        while not received.endswith(b"0\r\n\r\n"):
            received += connection.recv(1_000_000)
    positions = [int(found) for found in re.findall(rb'data: {"position":(\d+)', received)]
    assert positions == list(range(4000))
    assert received.count(b"event: done") == 1


def test_five_thousand_sentences_are_served_beside_others(
    client: httpx.Client, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """A session's sentence and a short document overtake a long document with hundreds of sentences in the queue.

    The long one stops at two gates. While it stands at the first, the others join the queue; by the time it stands at
    the second, which is already queued, they have been answered.
    """
    gates = [tmp_path / "first", tmp_path / "second"]
    sources = [f"s{number}" for number in range(5000)]
    sources[50], sources[200] = (f"wait-for:{gate}" for gate in gates)
    before = translated(client)
    session = begin(client)
    long = pool.submit(translate, client, *sources)
    eventually(lambda: translated(client) == before + 48, "it stands before the first gate")
    spoken = pool.submit(say, client, session, "一。", 0)
    short = pool.submit(translate, client, *"abcde")
    eventually(lambda: _number(client, "antecedent_sentences_waiting") == 392 + 5, "the worker has what goes first")
    gates[0].touch()
    assert spoken.result().json()["translation"] == "一。"
    assert len(short.result().json()["sentences"]) == 5
    assert translated(client) - before < 200 + 6
    assert not long.done()
    gates[1].touch()
    answer = long.result().json()
    assert [sentence["source"] for sentence in answer["sentences"]] == sources
    assert answer["sentences"][4999]["translation"] == expected("s4999", ["s4997", "s4998"])


def test_long_document_comes_whole_and_in_order(client: httpx.Client) -> None:
    """Five thousand sentences as events are complete and in order, too."""
    text = "\n".join(f"s{number}。" for number in range(5000))
    with document_events(client, text=text) as stream:
        events = list(stream)
    assert [data["position"] for _, data in events[:-1]] == list(range(5000))
    assert rebuilt(events).count("\n") == 4999


def test_end_of_the_service_and_readers_that_have_stopped(
    replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """A reader that reads nothing for a while is given up; when the service ends, a document ends with an error."""
    replica = replicas.new(
        redis_url=redis_server.url, drain_seconds="1", stream_idle_seconds="0.3", batch_sentences="1"
    ).start()
    served = 'antecedent_requests_total{method="POST",route="/v1/documents",status="200"}'
    with replica.client() as client:
        with connect(replica, sentences=["x" * 1000] * 4000):
            eventually(lambda: measured(client, f"{served} 1.0"), "the reader is given up")
        with document_events(client, sentences=["a", f"wait-for:{tmp_path / 'never'}", "b"]) as stream:
            assert next(stream)[0] == "sentence"
            replica.send(signal.SIGTERM)
            ((kind, problem),) = stream
            assert (kind, problem["code"], problem["retryable"]) == ("error", "shutting_down", True)
            assert (problem["position"], problem["retry_after_seconds"]) == (1, 1)
    assert replica.wait() == 0
