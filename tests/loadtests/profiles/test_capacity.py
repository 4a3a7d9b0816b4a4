from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadtests.outcomes import ARRIVAL, Outcome, Result
from loadtests.profiles import capacity
from loadtests.profiles.capacity import SLOWER, Plan, run
from loadtests.scenario import Open
from loadtests.stage.stage import Ran, Setting


class Slow:
    """A stage on which all answers are too late beyond a rate."""

    def run(self, load: Open, _: object) -> Ran:
        """Let a user come and leave, and each kind of request be answered."""
        seconds = 0.1 if load.rate < 1.08 else 100.0
        visit = [Outcome(ARRIVAL, result, 0.0, 0.0) for result in (Result.BEGUN, Result.ENDED)]
        return Ran(0.0, seconds, [*visit, *(Outcome(what, Result.ANSWERED, 0.0, seconds) for what in SLOWER)])


def test_each_rate_has_figures_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rates that a slow model is tried with lie close to each other at the end of the search."""

    @contextmanager
    def slow(*_: Any) -> Iterator[Slow]:
        yield Slow()

    monkeypatch.setattr(capacity, "staged", slow)
    tried: list[float] = []
    figures = run(Plan(first_rate=1.0), Setting(Path("bundle")), (), tried.append).figures
    spoken = [value for name, value in figures.items() if "live, 99 %" in name]
    assert spoken == [100.0 if rate < 1.08 else 100_000.0 for rate in sorted(tried)]
