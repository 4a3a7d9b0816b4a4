"""The whole service on a Redis Cluster of three masters."""

from collections.abc import Iterator

import httpx
import pytest
from redis import Redis

from tests.support.client import PAIR, SENTENCES, begin, check_document, check_file, say, say_until_served, translate
from tests.support.redis_servers import RedisCluster, wait_for_redis
from tests.support.servers import Replicas, eventually


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """A Cluster of three masters for all tests of this file."""
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def client(shared_replicas: Replicas, cluster: RedisCluster) -> Iterator[httpx.Client]:
    """A client of a service on the Cluster."""
    with shared_replicas.new(redis_url=cluster.url, redis_timeout_seconds="0.5").start().client() as client:
        yield client


def sessions_everywhere(client: httpx.Client, cluster: RedisCluster) -> list[str]:
    """Delete everything, and begin sessions until every master has one."""
    admins = [Redis(port=master.port) for master in cluster.masters]
    for admin in admins:
        admin.flushall()
    sessions: list[str] = []
    while not all(admin.dbsize() for admin in admins):
        sessions.append(begin(client))
    for admin in admins:
        admin.close()
    return sessions


def test_sessions_on_many_slots(client: httpx.Client, cluster: RedisCluster) -> None:
    """Sessions can be created, translated, read and deleted on any slot."""
    sessions = sessions_everywhere(client, cluster)
    for session in sessions:
        for at, text in enumerate(SENTENCES):
            assert say(client, session, text, at).status_code == 200
        check_document(client, session)
    for session in sessions:
        assert client.delete(session).status_code == 204
        assert client.get(session).status_code == 404


def test_files_on_many_slots(client: httpx.Client) -> None:
    """Files are in their tenant's slot, and their queue is in another one."""
    for _ in range(3):
        check_file(client)


def test_scripts_are_loaded_again(client: httpx.Client, cluster: RedisCluster) -> None:
    """Scripts that a master has forgotten are loaded again."""
    sessions = sessions_everywhere(client, cluster)
    for master in cluster.masters:
        with Redis(port=master.port) as admin:
            admin.script_flush()
    assert {say(client, session, SENTENCES[0]).status_code for session in sessions} == {200}


def test_slot_that_moves(client: httpx.Client, cluster: RedisCluster) -> None:
    """While its slot moves to another master a session is served or asked to retry, and nothing is lost."""
    session = begin(client)
    assert say(client, session, SENTENCES[0], 0).status_code == 200
    with cluster.moving(session.rpartition("/")[2]) as move_keys:
        for at in (1, 2):
            assert say(client, session, SENTENCES[at], at).status_code in {200, 503}
            move_keys()
    for at in range(1, len(SENTENCES)):
        assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
    check_document(client, session)


def test_master_killed(client: httpx.Client, cluster: RedisCluster) -> None:
    """Sessions in its slots are asked to retry, others and documents go on; when it is back, all do."""
    sessions = sessions_everywhere(client, cluster)
    for session in sessions:
        assert say(client, session, SENTENCES[0], 0).status_code == 200
    cluster.masters[1].kill()
    answers = {session: say(client, session, SENTENCES[1], 1) for session in sessions}
    assert {answer.status_code for answer in answers.values()} == {200, 503}
    for answer in answers.values():
        if answer.status_code == 503:
            assert (answer.json()["code"], answer.headers["retry-after"]) == ("session_store_unavailable", "1")
    for session in [session for session, answer in answers.items() if answer.status_code == 200]:
        assert say(client, session, SENTENCES[2], 2).status_code == 200, "still"
    assert translate(client, "a", "b").status_code == 200
    assert client.get("/health/ready").status_code == 200
    cluster.masters[1].start()
    for session in sessions:
        for at in range(1, len(SENTENCES)):
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)


def test_node_that_is_taken_for_a_single_redis(replicas: Replicas, cluster: RedisCluster) -> None:
    """If it was away at the start, the mistake goes unnoticed then; it is an outage with its own reason, not a bug."""
    node = cluster.masters[0]
    node.kill()
    replica = replicas.new(redis_url=node.url).start()
    node.start()
    with Redis(port=node.port) as admin:
        wait_for_redis(admin)
    answers = []

    def is_sent_on() -> bool:
        """The node may count as away for a few more requests, and a third of all sessions are its own."""
        answers.append(client.post("/v1/sessions", json=PAIR))
        return '"MOVED"' in replica.log

    with replica.client() as client:
        eventually(is_sent_on, "it says that another one has the session")
    assert {answer.status_code for answer in answers} <= {201, 503}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 503} == {"session_store_unavailable"}
    assert replica.end() == 0
    assert "unforeseen_error" not in replica.log
