from pathlib import Path

import pytest

from loadtests import stage
from loadtests.errors import LoadTestError
from loadtests.outcomes import Outcomes


def test_users_to_whom_nothing_happens_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One who waits for ever for what never comes would keep a load test from ending."""
    watch = stage._Watch(lambda found, elapsed: 0.5, Outcomes(tmp_path / "outcomes"))
    assert watch.look() == 0
    monkeypatch.setattr(stage, "_STUCK_SECONDS", 0.0)
    with pytest.raises(LoadTestError, match="nothing has happened"):
        watch.look()
