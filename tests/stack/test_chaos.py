"""Sessions on two replicas while Redis and the replicas are killed: a small run of `python -m loadtests order`."""

from pathlib import Path

import pytest

from loadtests.profiles import order
from tests.support.servers import bundle


@pytest.mark.parametrize("reads_target_context", [pytest.param(False, marks=pytest.mark.slow), True])
def test_nothing_is_lost_doubled_or_mixed(tmp_path: Path, reads_target_context: bool) -> None:
    """Whatever is killed and however clients behave, every session ends as in an undisturbed run."""
    plan = order.Plan(sessions=16, sentences=12, reads_target_context=reads_target_context, service_seconds=0.06)
    parts: list[float] = []
    report = order.run(plan, bundle(tmp_path / "bundle"), parts.append)
    assert [check for check in report.checks if not check.holds] == []
    assert max(parts) > 0.8
    assert report.figures["repeated: connection_lost"]
    assert report.figures["noted: socket torn"]
