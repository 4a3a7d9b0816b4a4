"""Nothing that users send gets into logs, metrics or traces, whatever they send and whatever goes wrong."""

import asyncio
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import InvalidStatus

from service.access.key_file import KeyFile
from tests.support.client import PAIR, begin, say
from tests.support.collector import collecting
from tests.support.keys import made
from tests.support.servers import RedisServer, Replicas
from tests.support.streams import opened

MARK, TENANT = "himitsu", "naisho"
"""A marker in every text and header field that is sent, and the tenant whose key is used."""
MEMORY = [{"source": f"{MARK}.", "target": MARK}]
LINES = {"glossary": f"{MARK}\t{MARK}", "memory": f"{MARK}\t{MARK}"}
DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs"
STREAM = ("WEBSOCKET", "/v1/sessions/{session_id}/stream")


@dataclass(frozen=True)
class Evidence:
    """What a service has logged and published about some traffic, and the secrets that must not be in it."""

    log: str
    metrics: str
    spans: str
    key_id: str
    secrets: tuple[str, ...]
    operations: frozenset[tuple[str, str]]


def drive(client: httpx.Client, url: str, key: str) -> str:
    """Call every operation, correctly and incorrectly; returns a session that still exists."""
    client.get("/openapi.json")
    for probe in ("startup", "live", "ready", "dependencies"):
        client.get(f"/health/{probe}?{MARK}")
    client.get("/v1/info")
    client.get("/v1/models")
    client.post("/v1/models", json={"bundle": "stand-in"})
    client.post("/v1/models", json={"bundle": MARK})
    client.delete(f"/v1/models/{MARK}")
    for text in (MARK, f"{MARK} refuse", f"{MARK} raise", MARK * 200):
        client.post("/v1/documents", json=PAIR | {"text": text, "context": [MARK], "memory": MEMORY})
    client.post("/v1/documents", json=PAIR | {"text": MARK}, headers={"Accept": "text/event-stream"})
    client.post("/v1/documents", json=PAIR | {"text": MARK, MARK: MARK, "model": MARK})
    client.post(f"/v1/documents?{MARK}", content=f'{{"{MARK}": ')
    client.get(f"/v1/{MARK}")
    client.put(f"/v1/documents/{MARK}")
    client.get("/v1/info", headers={"Authorization": f"Bearer {MARK}"})
    for text in (MARK, f"{MARK} refuse", f"{MARK} raise"):
        upload = {"data": PAIR | LINES, "files": {"file": (f"{MARK}.txt", text.encode())}}
        file = f"/v1/files/{client.post('/v1/files', **upload, headers={'Idempotency-Key': text}).json()['id']}"
        client.get(file, params={"wait_seconds": 20})
        client.get(f"{file}/translation")
        client.delete(file)
    client.post("/v1/files", data=PAIR, files={"file": (f"a.{MARK}", MARK.encode())})
    client.get("/v1/files")
    client.get(f"/v1/files/{MARK}")
    return drive_sessions(client, url, key)


def drive_sessions(client: httpx.Client, url: str, key: str) -> str:
    """Ask every operation on sessions; gives one that is still there."""
    for wrong in (MARK, f"{MARK}\n", MARK * 2000):
        client.post("/v1/sessions", json=PAIR | {"memory": [{"source": MARK, "target": wrong}], "model": MARK})
    client.post("/v1/sessions", json=PAIR | {"source_lang": MARK})
    session = begin(client, memory=MEMORY)
    say(client, session, MEMORY[0]["source"])
    say(client, session, MARK, **{"Idempotency-Key": MARK})
    say(client, session, f"{MARK} refuse")
    say(client, session, MARK, position=7)
    client.patch(f"{session}/sentences/0", json={"translation": MARK})
    client.patch(f"{session}/sentences/{MARK}", json={"translation": MARK})
    client.get(session)
    client.get(f"/v1/sessions/{MARK}")
    client.get(f"{session}/stream")
    client.delete(begin(client))
    with opened(url, session, additional_headers={"Authorization": f"Bearer {key}"}) as stream:
        stream.send(MARK)
        stream.send(f"{MARK} refuse")
        stream.socket.send(f'{{"{MARK}": 1}}')
        stream.receive_all(3)
    return session


def drive_without_redis(client: httpx.Client, url: str, key: str, session: str) -> None:
    """Use a session, and try to open its stream, while Redis is away."""
    say(client, session, MARK)
    client.get(session)
    client.get("/health/dependencies")
    with (
        pytest.raises(InvalidStatus),
        opened(url, session, additional_headers={"Authorization": f"Bearer {key}"}),
    ):
        pass


@pytest.fixture(scope="module")
def evidence(shared_replicas: Replicas, stand_in_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The evidence from a service that has had all kinds of requests and has lost its Redis."""
    folder = tmp_path_factory.mktemp("privacy")
    key, record = made(TENANT, "translate", "admin")
    asyncio.run(KeyFile(folder / "keys.json").add(record))
    redis = RedisServer(folder)
    with ExitStack() as stack:
        redis.start()
        stack.callback(redis.kill)
        collector = stack.enter_context(collecting())
        replica = shared_replicas.new(
            redis_url=redis.url,
            keys="file",
            keys_file=str(folder / "keys.json"),
            bundle_root=str(stand_in_bundle.parent),
            otlp_endpoint=collector.url,
            log_level="debug",
        ).start()
        with replica.client() as client:
            client.headers.update(
                {
                    "Authorization": f"Bearer {key}",
                    "User-Agent": MARK,
                    "X-Request-ID": f"{MARK} !",
                    "tracestate": f"a={MARK}",
                    "baggage": f"a={MARK}",
                }
            )
            session = drive(client, replica.url, key)
            redis.kill()
            drive_without_redis(client, replica.url, key, session)
            paths = client.get("/openapi.json").json()["paths"]
            metrics = client.get("/metrics").text + client.get("/metrics").text
        assert replica.end() == 0
    return Evidence(
        log=replica.log,
        metrics=metrics,
        spans=b"".join(collector.bodies).decode("latin-1"),
        key_id=key.split("_", 2)[1],
        secrets=(MARK, TENANT, key, key.split("_", 2)[2], session.rpartition("/")[2]),
        operations=frozenset((method.upper(), path) for path, methods in paths.items() for method in methods),
    )


def test_every_operation_was_asked(evidence: Evidence) -> None:
    """This fails for a new route until `drive` calls it with marked text."""
    found = set(re.findall(r'antecedent_requests_total\{method="(\w+)",route="([^"]+)"', evidence.metrics))
    assert evidence.operations | {STREAM} <= found
    for code in ("worker_died", "invalid_request", "session_store_unavailable", "invalid_message"):
        assert f'antecedent_rejections_total{{code="{code}"}}' in evidence.metrics


@pytest.mark.parametrize("where", ["log", "metrics", "spans"])
def test_nothing_of_users_is_written_down(evidence: Evidence, where: str) -> None:
    """No text, key, tenant or session id appears, whether requests succeeded or failed."""
    written = getattr(evidence, where)
    assert len(written) > 1000
    assert [secret for secret in evidence.secrets if secret in written] == []


def test_labels_are_documented_and_come_from_fixed_sets(evidence: Evidence) -> None:
    """Every label of every metric is in docs/metrics.md; routes are patterns, and codes are those of docs/errors.md."""
    text = (DOCUMENTATION / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (?:\w+) \| (.*?) \| .+ \|$", text, re.MULTILINE)
    documented = {name: set(re.findall(r"\w+", labels)) for name, labels in rows}
    codes = re.findall(r"^\| `(\w+)` \|", (DOCUMENTATION / "errors.md").read_text(), re.MULTILINE)
    allowed = {
        "route": {path for _, path in evidence.operations} | {STREAM[1], "/openapi.json", "none"},
        "code": set(codes),
        "model": {"stand-in"},
        "priority": {"interactive", "bulk"},
    }
    last = evidence.metrics[evidence.metrics.rindex("# HELP antecedent_requests_total") :]
    for family in text_string_to_metric_families(last):
        name = family.name.removesuffix("_created")
        known = next(documented[full] for full in (name, f"{name}_total", f"{name}_info") if full in documented)
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == known
            for label, value in sample.labels.items():
                assert value in allowed.get(label, {value})
                assert re.fullmatch(r"[\w.+/{}-]{1,64}", value)


def test_every_request_has_its_line(evidence: Evidence) -> None:
    """Every line is JSON, and a request's line has what is needed to find the request again."""
    lines = [json.loads(line) for line in evidence.log.splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) > 30
    for line in requests:
        assert {"request_id", "route", "method", "status", "seconds", "timestamp"} <= line.keys()
        untraced = line["route"].startswith(("/health/", "/metrics")) or line["method"] == "WEBSOCKET"
        assert ("trace_id" in line) != untraced
        if line["route"].startswith("/v1/"):
            assert line.get("key") == (None if line["status"] == 401 else evidence.key_id)
