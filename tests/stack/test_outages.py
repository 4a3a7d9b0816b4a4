"""What outages of Redis mean to clients, as the table in docs/operations.md says."""

import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from tests.support.client import PAIR, SENTENCES, begin, check_document, measured, say, say_until_served
from tests.support.redis_servers import kill_own_redis
from tests.support.servers import RedisServer, Replica, Replicas, child, children, eventually

PATIENCE = {"redis_timeout_seconds": "0.5", "redis_total_seconds": "4", "session_lease_seconds": "0.5"}
"""Settings under which Redis counts as away when it has failed to answer five times."""


@pytest.fixture(scope="module")
def fragile_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for all tests of this file, each of which leaves it as it was."""
    with RedisServer(tmp_path_factory.mktemp("fragile-redis")) as server:
        yield server


@pytest.fixture(scope="module")
def replica(shared_replicas: Replicas, fragile_redis: RedisServer) -> Replica:
    """A service with little patience."""
    return shared_replicas.new(redis_url=fragile_redis.url, **PATIENCE).start()


@contextmanager
def configured(server: RedisServer, **settings: tuple[Any, Any]) -> Iterator[Redis]:
    """Change settings of a Redis for a while; each is a pair of the value now and the one to restore."""
    with Redis(port=server.port) as admin:
        for name, (now, _) in settings.items():
            admin.config_set(name, now)
        try:
            yield admin
        finally:
            for name, (_, before) in settings.items():
                admin.config_set(name, before)


def check_outage(client: httpx.Client, session: str, position: int) -> None:
    """Check that sessions are asked to retry, documents are served, and the replica stays ready."""
    away = say(client, session, SENTENCES[position], position)
    assert (away.status_code, away.headers["retry-after"]) == (503, "1")
    assert (away.json()["code"], away.json()["retryable"]) == ("session_store_unavailable", True)
    assert client.post("/v1/sessions", json=PAIR).status_code == 503
    assert client.post("/v1/documents", json=PAIR | {"sentences": ["a"]}).status_code == 200
    assert client.get("/health/ready").status_code == 200


def finish(client: httpx.Client, session: str, *positions: int) -> None:
    """Complete a session, and check that nothing is missing or different."""
    for at in positions:
        assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
    check_document(client, session)


def check_no_writes(client: httpx.Client, reason: str) -> None:
    """Check that the health endpoint reports that Redis answers but accepts no writes, and why."""
    found = client.get("/health/dependencies")
    assert (found.status_code, found.json()["status"]) == (503, "degraded")
    redis = found.json()["dependencies"][0]
    assert (redis["name"], redis["status"]) == ("redis", "read_only")
    assert redis["detail"].endswith(f"({reason})")


def test_redis_killed_in_the_middle_of_a_session(client: httpx.Client, fragile_redis: RedisServer) -> None:
    """There are 503s with Retry-After while Redis is away; afterwards nothing is lost."""
    session = begin(client)
    for at in (0, 1):
        say_until_served(client, session, SENTENCES[at], at)
    fragile_redis.kill()
    check_outage(client, session, 2)
    assert client.get("/health/dependencies").json()["dependencies"][0]["status"] == "down"
    fragile_redis.start()
    finish(client, session, 2, 3, 4)


def test_redis_that_hangs(client: httpx.Client, replica: Replica, fragile_redis: RedisServer) -> None:
    """A Redis that does not answer in time is away and soon not asked any more; what it does late is done only once."""
    session = begin(client)
    say_until_served(client, session, SENTENCES[0], 0)
    fragile_redis.pause()
    check_outage(client, session, 1)
    eventually(lambda: _refused_at_once(client, session), "calls fail without asking Redis")
    assert measured(client, "antecedent_redis_nodes_away 1.0")
    assert '"event": "redis_away"' in replica.log or '"event":"redis_away"' in replica.log
    fragile_redis.resume()
    finish(client, session, 1, 2, 3, 4)
    assert measured(client, "antecedent_redis_nodes_away 0.0")


def test_redis_that_comes_back_empty(client: httpx.Client, fragile_redis: RedisServer) -> None:
    """Any request for a session that Redis has lost gets a 404; it is never silently created again."""
    session = begin(client)
    say_until_served(client, session, SENTENCES[0], 0)
    with Redis(port=fragile_redis.port) as admin:
        admin.flushall()
        admin.script_flush()
    for answer in (say(client, session, SENTENCES[1], 1), client.get(session), client.delete(session)):
        assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")
    finish(client, begin(client), 0, 1, 2, 3, 4)


def test_redis_that_is_full(client: httpx.Client, fragile_redis: RedisServer) -> None:
    """No sentence is accepted, and none is dropped in favour of another; stored ones can be read."""
    session = begin(client)
    say_until_served(client, session, SENTENCES[0], 0)
    with configured(fragile_redis, maxmemory=(1, 0)):
        check_outage(client, session, 1)
        assert len(client.get(session).json()["sentences"]) == 1
        check_no_writes(client, "OOM")
    finish(client, session, 1, 2, 3, 4)
    assert client.get("/health/dependencies").status_code == 200


def test_redis_that_cannot_save(client: httpx.Client, fragile_redis: RedisServer) -> None:
    """A Redis whose disk is full refuses all changes, but stored sentences can be read."""
    session = begin(client)
    say_until_served(client, session, SENTENCES[0], 0)
    with configured(fragile_redis, save=("3600 1", "")) as admin:
        admin.set("more than the disk takes", os.urandom(1_000_000), ex=10)
        pid = admin.info("server")["process_id"]
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY))
        admin.bgsave()
        eventually(lambda: admin.info("persistence")["rdb_last_bgsave_status"] == "err", "saving fails")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        check_outage(client, session, 1)
        check_no_writes(client, "MISCONF")
        assert len(client.get(session).json()["sentences"]) == 1
        admin.client_kill_filter(_type="normal", skipme=True)
        assert len(client.get(session).json()["sentences"]) == 1
        fragile_redis.pause()
        eventually(lambda: _refused_at_once(client, session), "calls fail without asking Redis")
        fragile_redis.resume()
        eventually(lambda: client.get(session).status_code == 200, "what is there can be read again")
    finish(client, session, 1, 2, 3, 4)


def test_redis_that_is_a_read_only_replica(
    client: httpx.Client, fragile_redis: RedisServer, redis_server: RedisServer
) -> None:
    """If the address leads to a replica, no sentences are accepted until it leads to a master again."""
    session = begin(client)
    say_until_served(client, session, SENTENCES[0], 0)
    with Redis(port=fragile_redis.port) as admin:
        admin.config_set("replica-serve-stale-data", "yes")
        admin.replicaof("127.0.0.1", 1)
        try:
            check_outage(client, session, 1)
            check_no_writes(client, "READONLY")
        finally:
            admin.replicaof("NO", "ONE")
    finish(client, session, 1, 2, 3, 4)


@pytest.mark.parametrize(("user", "reason"), [("", "NOAUTH"), ("default:himitsu@", "WRONGPASS")])
def test_redis_that_refuses_the_password(
    replicas: Replicas, fragile_redis: RedisServer, user: str, reason: str
) -> None:
    """A password that is missing or no longer valid is an outage, and the log says why, but not the password."""
    url = fragile_redis.url.replace("//", f"//{user}")  # the default user may have any password until it needs one
    replica = replicas.new(redis_url=url, **PATIENCE).start()
    with replica.client() as client:
        session = begin(client)
        say_until_served(client, session, SENTENCES[0], 0)
        with configured(fragile_redis, requirepass=("hunter2", "")) as admin:
            admin.client_kill_filter(_type="normal", skipme=True)
            check_outage(client, session, 1)
        assert reason in replica.log
        assert "himitsu" not in replica.log
        finish(client, session, 1, 2, 3, 4)


def test_database_that_redis_does_not_have(replicas: Replicas, fragile_redis: RedisServer) -> None:
    """A wrong database number in the URL is a lasting outage for sessions and probes; the log gives the reason."""
    replica = replicas.new(redis_url=f"{fragile_redis.url}/99").start()
    with replica.client() as client:
        for _ in range(5):
            answer = client.post("/v1/sessions", json=PAIR)
            assert (answer.status_code, answer.json()["code"]) == (503, "session_store_unavailable")
        assert client.post("/v1/documents", json=PAIR | {"sentences": ["a"]}).status_code == 200
        probe = client.get("/health/dependencies")
        assert (probe.status_code, probe.json()["dependencies"][0]["status"]) == (503, "down")
        assert measured(client, "antecedent_redis_nodes_away 1.0")
    assert replica.end() == 0
    lines = [json.loads(line) for line in replica.log.splitlines()]
    assert [line["reason"] for line in lines if line["event"] == "redis_away"] == ["SELECT"]
    assert not [line for line in lines if line["event"] in {"redis_back", "unforeseen_error"}]


def test_the_services_own_redis_is_started_again(replicas: Replicas) -> None:
    """Without a configured Redis, the service restarts its own when it is killed, with every session."""
    replica = replicas.new().start()
    with replica.client() as client:
        session = begin(client)
        for at in range(5):
            if at in {1, 3}:
                kill_own_redis(child(replica.pid, "redis-server"))
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)
        assert "antecedent_redis_restarts_total 2.0" in client.get("/metrics").text


def test_session_outlives_the_service(replicas: Replicas) -> None:
    """A service with its own Redis continues a session after being ended or killed, and leaves no process behind."""
    first = replicas.new().start()
    with first.client() as client:
        session = begin(client)
        say(client, session, SENTENCES[0], 0)
    assert first.end() == 0
    second = replicas.new().start()
    with second.client() as client:
        say(client, session, SENTENCES[1], 1)
    orphans = [Path(f"/proc/{number}/cmdline") for number, _ in children(second.pid)]
    assert len(orphans) == 2
    second.end(signal.SIGKILL)
    with replicas.new().start().client() as client:
        for at in (2, 3, 4):
            say(client, session, SENTENCES[at], at)
        check_document(client, session)
    eventually(lambda: not any(map(Path.exists, orphans)), "its Redis and its worker have ended with it")


def _refused_at_once(client: httpx.Client, session: str) -> bool:
    """Whether a call is refused without asking Redis."""
    asked = _round_trips(client)
    return client.get(session).status_code == 503 and _round_trips(client) == asked


def _round_trips(client: httpx.Client) -> list[str]:
    lines = client.get("/metrics").text.splitlines()
    return [line for line in lines if line.startswith("antecedent_redis_seconds_count")]
