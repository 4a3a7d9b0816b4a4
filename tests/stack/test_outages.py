"""What becomes of a session when Redis, or the service, is killed: rows of docs/operations.md."""

import os
import signal
from pathlib import Path

from tests.support.client import PAIR, SENTENCES, begin, check_document, say, say_until_served
from tests.support.servers import RedisServer, Replicas, child, children, eventually


def test_redis_killed_in_the_middle_of_a_session(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """503 with Retry-After while Redis is away, documents are served, the replica is ready; then nothing is lost."""
    with replicas.new(redis_url=mortal_redis.url).start().client() as client:
        session = begin(client)
        for at in (0, 1):
            say(client, session, SENTENCES[at], at)
        mortal_redis.kill()
        away = say(client, session, SENTENCES[2], 2)
        assert (away.status_code, away.headers["retry-after"]) == (503, "1")
        assert away.json()["retryable"]
        assert client.post("/v1/sessions", json=PAIR).status_code == 503
        assert client.post("/v1/documents", json=PAIR | {"sentences": ["a"]}).status_code == 200
        assert client.get("/health/ready").status_code == 200
        assert client.get("/health/dependencies").json()["dependencies"][0]["status"] == "down"
        mortal_redis.start()
        for at in (2, 3, 4):
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)


def test_redis_that_hangs(replicas: Replicas, mortal_redis: RedisServer) -> None:
    """A Redis that does not answer in time is away; what it then does late, the retry finds done."""
    with replicas.new(redis_url=mortal_redis.url, redis_timeout_seconds="0.5").start().client() as client:
        session = begin(client)
        say(client, session, SENTENCES[0], 0)
        mortal_redis.pause()
        assert say(client, session, SENTENCES[1], 1).status_code == 503
        mortal_redis.resume()
        for at in (1, 2, 3, 4):
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)


def test_the_services_own_redis_is_started_again(replicas: Replicas) -> None:
    """With no Redis configured, one that is killed comes back by itself, with every session."""
    replica = replicas.new().start()
    with replica.client() as client:
        session = begin(client)
        for at in range(5):
            if at in {1, 3}:
                os.kill(child(replica.pid, "redis-server"), signal.SIGKILL)
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)
        assert "antecedent_redis_restarts_total 2.0" in client.get("/metrics").text


def test_session_outlives_the_service(replicas: Replicas) -> None:
    """A service with its own Redis is ended, and killed, and goes on with the session; it leaves no process behind."""
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
