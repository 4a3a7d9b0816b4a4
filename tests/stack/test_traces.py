"""Traces that a collector gets from a real service: off by default, complete when on, and never harmful."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.client import PAIR, begin, measured, say, translate
from tests.support.collector import Collector, Recorded, collecting
from tests.support.servers import RedisServer, Replica, Replicas, children, eventually, free_port
from tests.support.streams import opened

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{CALLER}-01", "tracestate": "somebody=himitsu"}
NOT_SAMPLED = {"traceparent": f"00-{TRACE}-{CALLER}-00"}


@pytest.fixture(autouse=True)
def _export_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A running collector."""
    with collecting() as running:
        yield running


@pytest.fixture
def traced(replicas: Replicas, redis_server: RedisServer, collector: Collector) -> Replica:
    """A service that sends traces to the collector; its worker gets three sentences at a time."""
    return replicas.new(redis_url=redis_server.url, otlp_endpoint=collector.url, batch_sentences="3").start()


def in_trace(collector: Collector, trace_id: str) -> dict[str, Recorded]:
    """The spans of one trace, by name."""
    found = [recorded for recorded in collector.spans if recorded.span.trace_id.hex() == trace_id]
    by_name = {recorded.span.name: recorded for recorded in found}
    assert len(by_name) == len(found)
    return by_name


def test_one_trace_from_the_client_to_the_worker(traced: Replica, collector: Collector) -> None:
    """A sentence's spans continue the client's trace: HTTP, Redis, queue, batch and, in the worker, the model."""
    with traced.client() as client:
        session = begin(client)
        assert say(client, session, "一つ。", **SAMPLED).status_code == 200
    assert traced.end() == 0
    spans = in_trace(collector, TRACE)
    route = "POST /v1/sessions/{session_id}/sentences"
    parents = {name: recorded.span.parent_span_id for name, recorded in spans.items()}
    assert parents == {
        route: bytes.fromhex(CALLER),
        "redis append": spans[route].span.span_id,
        "queue": spans[route].span.span_id,
        "batch": spans[route].span.span_id,
        "translate": spans["batch"].span.span_id,
        "redis finish": spans[route].span.span_id,
    }
    assert [name for name, recorded in spans.items() if recorded.process == "worker"] == ["translate"]
    assert spans[route].attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/sessions/{session_id}/sentences",
        "http.response.status_code": 200,
    }


def test_key_in_the_collectors_address_is_in_no_command_line(
    replicas: Replicas, redis_server: RedisServer, collector: Collector
) -> None:
    """Every user of the machine can list command lines; the worker gets the address in another way."""
    endpoint = collector.url.replace("://", "://us:himitsu@")
    replica = replicas.new(redis_url=redis_server.url, otlp_endpoint=endpoint).start()
    commands = [command for _, command in children(replica.pid)]
    with replica.client() as client:
        assert say(client, begin(client), "一つ。", **SAMPLED).status_code == 200
    assert replica.end() == 0
    assert any("worker_process" in command for command in commands)
    assert not [command for command in commands if "himitsu" in command]
    assert in_trace(collector, TRACE)["translate"].process == "worker"


def test_batch_has_a_link_to_each_of_its_requests(traced: Replica, collector: Collector, tmp_path: Path) -> None:
    """A batch with three sentences of two documents is in the trace of one, and linked to both."""
    gate = tmp_path / "gate"
    with traced.client() as client, ThreadPoolExecutor() as threads:
        first = threads.submit(translate, client, *[f"wait-for:{gate}"] * 3)
        eventually(lambda: measured(client, "antecedent_sentences_running 3.0"), "the worker has all it may have")
        others = [threads.submit(translate, client, *text) for text in (("一。", "二。"), ("三。", "四。"))]
        eventually(lambda: measured(client, 'antecedent_sentences_waiting{priority="bulk"} 4.0'), "both wait")
        gate.touch()
        assert [answer.result().status_code for answer in (first, *others)] == [200] * 3
    assert traced.end() == 0
    requests = {recorded.span.span_id for recorded in collector.named("POST /v1/documents")[1:]}
    batch = collector.named("batch")[-2]
    assert {link.span_id for link in batch.span.links} == requests
    assert batch.span.parent_span_id in requests
    assert batch.attributes == {"antecedent.sentences": 3, "antecedent.characters": 8}
    waits = [wait for wait in collector.named("queue") if wait.span.links[0].span_id == batch.span.span_id]
    assert {wait.span.parent_span_id for wait in waits} == requests
    assert sorted(wait.attributes["antecedent.sentences"] for wait in waits) == [1, 2]


def test_each_sentence_of_a_stream_has_a_span(traced: Replica, collector: Collector) -> None:
    """The span is in the trace of the client's handshake, and contains everything done for the sentence."""
    with traced.client() as client:
        session = begin(client)
    with opened(traced.url, session, additional_headers=SAMPLED) as stream:
        stream.send("一つ。")
        stream.send("二つ。")
        stream.receive_all(2)
    assert traced.end() == 0
    sentences = collector.named("stream sentence")
    assert [(each.span.trace_id.hex(), each.span.parent_span_id.hex()) for each in sentences] == [(TRACE, CALLER)] * 2
    for name in ("redis append", "queue", "redis finish"):
        parents = [recorded.span.parent_span_id for recorded in collector.named(name)]
        assert sorted(parents) == sorted(each.span.span_id for each in sentences)


def test_failures_are_marked_by_their_kind_alone(traced: Replica, collector: Collector) -> None:
    """A worker's death is marked as an error; no span quotes a text, key, session or header."""
    with traced.client() as client:
        session = begin(client)
        failed = say(client, session, "himitsu crash", **SAMPLED, **{"Idempotency-Key": "himitsu"})
        assert failed.status_code == 500
        assert client.get("/himitsu").status_code == 404
        assert client.put(f"{session}?himitsu").status_code == 405
    assert traced.end() == 0
    assert [batch.span.status.message for batch in collector.named("batch")] == ["WorkerDiedError"] * 2
    (request,) = collector.named("POST /v1/sessions/{session_id}/sentences")
    assert request.span.status.code == request.span.status.STATUS_CODE_ERROR
    received = b"".join(collector.bodies)
    assert b"himitsu" not in received.lower()
    assert session.rpartition("/")[2].encode() not in received


def test_log_lines_name_the_trace(traced: Replica) -> None:
    """With tracing on, every line about a request has its trace id."""
    with traced.client() as client:
        client.get("/v1/models", headers=SAMPLED)
    assert traced.end() == 0
    (line,) = [json.loads(line) for line in traced.log.splitlines() if '"event": "request"' in line]
    assert line["trace_id"] == TRACE


def test_sampling_follows_the_client_and_else_the_ratio(
    replicas: Replicas, redis_server: RedisServer, collector: Collector
) -> None:
    """With a ratio of 0, only requests whose client records them are recorded, and probes never are."""
    replica = replicas.new(redis_url=redis_server.url, otlp_endpoint=collector.url, trace_sample_ratio="0").start()
    with replica.client() as client:
        for headers in ({}, NOT_SAMPLED, SAMPLED):
            assert client.get("/v1/models", headers=headers).status_code == 200
            assert client.get("/health/live", headers=headers).status_code == 200
    assert replica.end() == 0
    assert [recorded.span.name for recorded in collector.spans] == ["GET /v1/models"]


def test_nothing_is_sent_unless_a_collector_is_named(
    replicas: Replicas, redis_server: RedisServer, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default nothing is sent and no log line has a trace id, whatever OpenTelemetry's own variables say."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    replica = replicas.new(redis_url=redis_server.url).start()
    with replica.client() as client:
        assert client.post("/v1/documents", json=PAIR | {"text": "一。"}, headers=SAMPLED).status_code == 200
    assert replica.end() == 0
    assert collector.bodies == []
    assert "trace_id" not in replica.log


def test_collector_that_is_away_does_no_harm(replicas: Replicas, redis_server: RedisServer) -> None:
    """If no collector listens, requests are served and the service ends normally."""
    endpoint = f"http://127.0.0.1:{free_port()}"
    replica = replicas.new(redis_url=redis_server.url, otlp_endpoint=endpoint).start()
    with replica.client() as client:
        session = begin(client)
        assert [say(client, session, "一つ。").status_code for _ in range(3)] == [200] * 3
    assert replica.end() == 0
