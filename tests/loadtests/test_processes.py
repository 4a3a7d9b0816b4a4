import signal
import socket
from pathlib import Path

import pytest

from loadtests import processes
from loadtests.errors import LoadTestError
from loadtests.processes import RedisServer, Replica


def test_replica_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And said to be at fault: a load test that waited for it would never end."""
    replica = Replica(tmp_path, "tests.support.stubborn", {}).start()
    monkeypatch.setattr(processes, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(LoadTestError, match="did not end"):
        replica.end(signal.SIGTERM)
    assert not replica.alive


def test_redis_that_does_not_start_says_why(tmp_path: Path) -> None:
    """At once, in its own words, and what has its port is not taken for it."""
    server = RedisServer(tmp_path)
    with (
        socket.create_server(("127.0.0.1", server.port)),
        pytest.raises(LoadTestError, match=r"(?s)Redis did not start: .*already in use"),
    ):
        server.start()
    with pytest.raises(LoadTestError, match="Redis did not start"):
        RedisServer(tmp_path / "none", "--maxmemory-policy", "nonsense").start()
