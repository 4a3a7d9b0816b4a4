import signal
import socket
from pathlib import Path

import pytest

from loadtests.errors import LoadTestError
from loadtests.stage import processes
from loadtests.stage.processes import RedisServer, Replica, without_settings


def test_replica_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error names it as the cause; a load test that waited for it would never end."""
    replica = Replica(tmp_path, "tests.support.stubborn", {}).start()
    monkeypatch.setattr(processes, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(LoadTestError, match="did not end"):
        replica.end(signal.SIGTERM)
    assert not replica.alive


def test_redis_that_does_not_start_says_why(tmp_path: Path) -> None:
    """The error comes at once, in Redis's own words, and another process on its port is not taken for Redis."""
    server = RedisServer(tmp_path)
    with (
        socket.create_server(("127.0.0.1", server.port)),
        pytest.raises(LoadTestError, match=r"(?s)Redis did not start: .*already in use"),
    ):
        server.start()
    with pytest.raises(LoadTestError, match="Redis did not start"):
        RedisServer(tmp_path / "none", "--maxmemory-policy", "nonsense").start()


def test_settings_of_whoever_measures_are_not_those_of_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own keys, models and addresses stay out of a load test; other environment variables are passed on."""
    monkeypatch.setenv("ANTECEDENT_HOST", "0.0.0.0")  # no key could be made with this
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = without_settings()
    assert not [name for name in found if name.startswith("ANTECEDENT_")]
    assert found["OMP_NUM_THREADS"] == "3"
