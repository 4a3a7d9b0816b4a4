"""The whole service on a Redis with Sentinel."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.client import SENTENCES, begin, check_document, say, say_until_served, translate
from tests.support.redis_servers import RedisSentinel
from tests.support.servers import Replicas, eventually


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[RedisSentinel]:
    """A master, its replica and their sentinel."""
    watched = RedisSentinel(tmp_path)
    try:
        watched.start()
        yield watched
    finally:
        watched.close()


def test_failover(replicas: Replicas, watched: RedisSentinel) -> None:
    """When the master dies, sessions wait and then go on with its replica, even when the old master comes back."""
    with replicas.new(redis_url=watched.url, redis_timeout_seconds="0.5").start().client() as client:
        session = begin(client)
        for at in (0, 1):
            assert say(client, session, SENTENCES[at], at).status_code == 200
        eventually(watched.in_step, "the replica has it all")
        with watched.without_the_master():
            assert translate(client, "a", "b").status_code == 200
            assert client.get("/health/ready").status_code == 200
            assert say_until_served(client, session, SENTENCES[2], 2).status_code == 200
            assert watched.promoted()
        watched.master.start()
        for at in (3, 4):
            assert say_until_served(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)


def test_master_that_is_cut_off_and_refuses_to_write(replicas: Replicas, watched: RedisSentinel) -> None:
    """Connections to it are given up for the new master, instead of staying with one that accepts no writes."""
    with replicas.new(redis_url=watched.url).start().client() as client:
        session = begin(client)
        assert say(client, session, SENTENCES[0], 0).status_code == 200
        eventually(watched.in_step, "the replica has it all")
        watched.cut_off_the_master()
        for at in range(1, len(SENTENCES)):
            assert say(client, session, SENTENCES[at], at).status_code == 200
        check_document(client, session)


def test_sentinels_that_are_silent(replicas: Replicas, watched: RedisSentinel) -> None:
    """Sentinels that accept a connection but never answer leave time for one that does, listed first or last."""
    too_little_for_each = {"redis_timeout_seconds": "4", "redis_total_seconds": "7"}
    with ExitStack() as silent:
        ports = [silent.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(2)]
        one, other = (f"127.0.0.1:{port}" for port in ports)
        answering = watched.url.split("/")[2]
        for hosts in ((answering, one, other), (one, other, answering)):
            url = watched.url.replace(answering, ",".join(hosts))
            with replicas.new(redis_url=url, **too_little_for_each).start().client() as client:
                assert say(client, begin(client), SENTENCES[0], 0).status_code == 200
