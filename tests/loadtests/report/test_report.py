import io

import pytest
from rich.console import Console

from loadtests.report.report import Check, Report, at_least, no_more, percentile

REPORT = Report("order", {"sessions": 2}, {"requests": 5, "seconds": 1.25}, [Check("nothing is lost", True, "0 are")])


def test_report_is_shown() -> None:
    """The terminal shows every figure and verdict."""
    shown = io.StringIO()
    REPORT.show(Console(file=shown, width=100))
    for part in ("sessions", "requests", "1.250", "ok  nothing is lost"):
        assert part in shown.getvalue()


def test_what_a_log_says_is_shown_as_it_is() -> None:
    """Brackets and colons are no markup; a closing tag without an opening one would even raise an error."""
    said = "[/srv/models] sources[position] :zap: [bold]"
    shown = io.StringIO()
    Report("smoke", {"bundle": said}, {said: 1}, [Check(said, False, said)]).show(Console(file=shown, width=160))
    assert shown.getvalue().count(said) == 4


def test_one_mark_that_is_missed_fails_the_report() -> None:
    """A report holds only if all its checks do; a figure exactly at its mark passes."""
    assert at_least("ratio", 0.9, 0.9).holds
    assert no_more("ms", 50.0, 50.0).holds
    missed = Report("overload", {}, {}, [at_least("ratio", 0.9, 0.9), at_least("ratio", 0.89, 0.9)])
    assert not missed.holds


@pytest.mark.parametrize(("values", "percent", "expected"), [([7.0], 95, 7.0), ([1.0, 2.0, 3.0], 50, 2.0)])
def test_percentile(values: list[float], percent: int, expected: float) -> None:
    """Percentiles exist even for a single value."""
    assert percentile(values, percent) == expected
