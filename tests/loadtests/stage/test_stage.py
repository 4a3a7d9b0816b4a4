from pathlib import Path

import pytest

from loadtests.errors import LoadTestError
from loadtests.outcomes import Outcomes, Result
from loadtests.scenario import Closed, Kind
from loadtests.stage import stage
from loadtests.stage.stage import Behaviour, Setting, staged
from tests.support.servers import bundle


def test_users_to_whom_nothing_happens_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who waits for something that never comes would keep a load test from ending."""
    watch = stage._Watch(lambda found, elapsed: 0.5, Outcomes(tmp_path / "outcomes"))
    assert watch.look() == 0
    monkeypatch.setattr(stage, "_STUCK_SECONDS", 0.0)
    with pytest.raises(LoadTestError, match="nothing has happened"):
        watch.look()


def test_users_ask_for_the_languages_of_the_bundle(tmp_path: Path) -> None:
    """With any language pair, users of all kinds and the quiet run before them are answered."""
    setting = Setting(bundle(tmp_path / "en-ja", source="en", target="ja"), workers=1, stand_in_seconds=0.0)
    with staged(setting, (("It rained.", "Then it stopped."),)) as found:
        ran = found.run(Closed(clients=1, seconds=0.2), Behaviour())
    results = {outcome.result for outcome in ran.outcomes}
    assert {Kind.DOCUMENT, Kind.EVENTS, "sentence"} <= {outcome.what for outcome in ran.outcomes}
    assert results == {Result.BEGUN, Result.ENDED, Result.ANSWERED}
