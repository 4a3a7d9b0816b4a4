"""Limits of keys from end to end, with two replicas and one Redis, which may fail."""

import asyncio
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from service.access.caller import KeyLimits
from service.access.key_file import KeyFile
from tests.support.client import PAIR, begin, measured, say, translate
from tests.support.keys import made
from tests.support.servers import RedisServer, Replicas, eventually
from tests.support.streams import opened

FIVE_A_MINUTE = KeyLimits(sentences_per_minute=5)
ONE_AT_A_TIME = KeyLimits(concurrency=1)
FIELDS = re.compile(r'"default";r=(\d+);t=(\d+)')


class Deployment:
    """Two replicas with one Redis and one key file."""

    def __init__(self, replicas: Replicas, folder: Path, redis: RedisServer, **settings: str) -> None:
        self._file = folder / "keys.json"
        self._new_key(KeyLimits())
        keys = {"keys": "file", "keys_file": str(self._file), "keys_refresh_seconds": "0.05"}
        settings |= keys | {"redis_url": redis.url, "batch_sentences": "1"}
        self.replicas = [replicas.new(**settings).start() for _ in range(2)]

    @contextmanager
    def clients(self, limits: KeyLimits) -> Iterator[list[httpx.Client]]:
        """A client of each replica, both with the same new key, which has these limits."""
        header = {"Authorization": f"Bearer {self._new_key(limits)}"}
        with ExitStack() as stack:
            clients = [stack.enter_context(replica.client()) for replica in self.replicas]
            for client in clients:
                client.headers.update(header)
            eventually(lambda: all(client.get("/v1/models").status_code == 200 for client in clients), "a key is known")
            yield clients

    def _new_key(self, limits: KeyLimits) -> str:
        key, record = made("tenant", limits=limits)
        asyncio.run(KeyFile(self._file).add(record))
        return key


@pytest.fixture(scope="module")
def deployment(
    shared_replicas: Replicas, tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer
) -> Deployment:
    """Replicas that no test kills."""
    return Deployment(shared_replicas, tmp_path_factory.mktemp("keys"), redis_server)


def _left(answer: httpx.Response) -> tuple[int, int]:
    """The quota in an answer: sentences left, and seconds until there are more."""
    found = FIELDS.fullmatch(answer.headers["ratelimit"])
    assert found
    assert answer.headers["ratelimit-policy"] == '"default";q=5;w=60'
    return int(found[1]), int(found[2])


def _gate(folder: Path) -> tuple[Path, str]:
    """A file, and a sentence that is translated once the file exists."""
    gate = folder / "gate"
    return gate, f"wait-for:{gate}"


def test_a_keys_minute_is_one_at_all_replicas(deployment: Deployment) -> None:
    """Sentences of documents and sessions count at any replica; answers say how many are left."""
    with deployment.clients(FIVE_A_MINUTE) as (one, other):
        assert _left(translate(one, "a", "b"))[0] == 3
        session = begin(other)
        assert _left(say(one, session, "a"))[0] == 1
        refused = translate(other, "a", "b")
        assert (refused.status_code, refused.json()["code"], refused.json()["retryable"]) == (429, "rate_limited", True)
        left, seconds = _left(refused)
        assert left == 1
        assert 0 < seconds <= 60
        assert refused.headers["retry-after"] == str(seconds)
        assert _left(say(other, session, "b"))[0] == 0
        assert say(one, session, "c").status_code == 429
        assert one.get(session).json()["next_position"] == 2


def test_text_without_a_sentence_counts_as_one(deployment: Deployment) -> None:
    """Searching it for sentences is work, too."""
    with deployment.clients(FIVE_A_MINUTE) as (client, _):
        statuses = [client.post("/v1/documents", json={"text": " \n", **PAIR}).status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_one_keys_minute_is_not_anothers(deployment: Deployment) -> None:
    """A key that has nothing left takes nothing from another one, even of the same tenant."""
    with deployment.clients(FIVE_A_MINUTE) as (one, _), deployment.clients(FIVE_A_MINUTE) as (another, _):
        assert translate(one, *"abcde").status_code == 200
        assert translate(one, "a").status_code == 429
        assert _left(translate(another, "a"))[0] == 4


def test_key_without_limits_has_no_quota(deployment: Deployment) -> None:
    """Without limits the answers have no header fields about them."""
    with deployment.clients(KeyLimits()) as (one, _):
        assert "ratelimit" not in translate(one, "a").headers


def test_request_under_way_at_one_replica_keeps_another_one_out(deployment: Deployment, tmp_path: Path) -> None:
    """A key limited to one request at a time has one across all replicas; then the next is served."""
    gate, waits = _gate(tmp_path)
    with deployment.clients(ONE_AT_A_TIME) as (one, other), ThreadPoolExecutor() as threads:
        first = threads.submit(translate, one, waits)
        eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "the first is under way")
        refused = translate(other, "a")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests_at_once")
        assert refused.headers["retry-after"] == "1"
        gate.touch()
        assert first.result().status_code == 200
        assert translate(other, "a").status_code == 200


def test_events_count_until_the_last_one(deployment: Deployment, tmp_path: Path) -> None:
    """A streamed document occupies its place until its end or until its reader leaves; its answer has the quota."""
    gate, waits = _gate(tmp_path)
    body = PAIR | {"sentences": ["a", waits]}
    with deployment.clients(KeyLimits(sentences_per_minute=5, concurrency=1)) as (one, other):
        with one.stream("POST", "/v1/documents", json=body, headers={"Accept": "text/event-stream"}) as events:
            assert _left(events)[0] == 3
            lines = events.iter_lines()
            assert next(lines) == "event: sentence"
            assert translate(other, "a").json()["code"] == "too_many_requests_at_once"
        eventually(lambda: translate(other, "a").status_code == 200, "the place is given back")
        gate.touch()


def test_stream_counts_as_long_as_it_is_open(deployment: Deployment) -> None:
    """An open stream occupies one of the key's places, and each of its sentences counts towards the rate."""
    with deployment.clients(KeyLimits(sentences_per_minute=5, concurrency=1)) as (one, other):
        session, headers = begin(one), {"Authorization": one.headers["authorization"]}
        with opened(deployment.replicas[0].url, session, additional_headers=headers) as stream:
            assert translate(other, "a").json()["code"] == "too_many_requests_at_once"
            stream.send_all(list("abcde"), 0)
            answers = stream.receive_all(5)
        assert [answer["type"] for answer in answers] == ["translation"] * 4 + ["error"]
        assert (answers[4]["code"], answers[4]["retryable"]) == ("rate_limited", True)
        eventually(lambda: translate(other, "a").json()["code"] == "rate_limited", "the place is given back")


def test_replica_that_is_killed_gives_its_places_back(
    replicas: Replicas, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Requests of a killed replica stop counting when their lease has ended."""
    deployment = Deployment(replicas, tmp_path, redis_server, concurrency_lease_seconds="3")
    _, waits = _gate(tmp_path)
    with deployment.clients(ONE_AT_A_TIME) as (one, other), ThreadPoolExecutor() as threads:
        lost = threads.submit(translate, one, waits)
        eventually(lambda: measured(one, "antecedent_sentences_running 1.0"), "it is under way")
        assert translate(other, "a").status_code == 429
        deployment.replicas[0].end(signal.SIGKILL)
        assert isinstance(lost.exception(), httpx.TransportError)
        eventually(lambda: translate(other, "a").status_code == 200, "the place has come back")


def test_limits_hold_while_redis_is_away(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """Without Redis the process enforces the limit by itself; when Redis is back, its own count resumes."""
    settings = {"redis_url": mortal_redis.url, "sentences_per_minute": "5", "concurrency_per_key": "5"}
    with replicas.new(**settings).start().client() as client:
        assert _left(translate(client, "a", "b", "c"))[0] == 2
        mortal_redis.kill()
        assert _left(translate(client, "a", "b", "c", "d"))[0] == 1
        assert translate(client, "a", "b").status_code == 429
        mortal_redis.start()
        eventually(lambda: translate(client, "a", "b").status_code == 200, "Redis counts again")
        assert translate(client, "a").status_code == 429
