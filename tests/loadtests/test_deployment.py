"""What a deployment finds in the logs of its replicas."""

from pathlib import Path
from typing import cast

import pytest

from loadtests.deployment import Deployment
from loadtests.processes import RedisServer, Replica


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"event": "Exception in ASGI application", "level": "error", "logger": "uvicorn.error"}', True),
        ('{"event": "unforeseen_error", "level": "error", "logger": "service.http"}', True),
        ("Traceback (most recent call last):", True),
        ('{"event": "Invalid HTTP request received.", "level": "warning", "logger": "uvicorn.error"}', False),
        ('{"event": "redis_away", "level": "warning", "logger": "service.store"}', False),
        ("not JSON at all", False),
    ],
)
def test_errors_that_nobody_has_foreseen(line: str, found: bool, tmp_path: Path) -> None:
    """Ours, and those that only uvicorn sees; not what a fault or a client explains."""
    (tmp_path / "stderr").write_text(line + "\n")
    deployment = Deployment(cast(RedisServer, None), [Replica(tmp_path, "service", {})], [])
    assert deployment.unforeseen() == [line] * found
