import errno
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from loadtests.outcomes import ARRIVAL, Outcome, Result
from loadtests.report.page import page, write
from loadtests.report.plots import all_plots
from loadtests.report.report import Check, Report
from loadtests.scenario import Kind
from loadtests.stage.faults import Struck
from loadtests.stage.samples import Sample
from loadtests.stage.stage import Ran

RAN = Ran(
    100.0,
    110.0,
    [
        Outcome(ARRIVAL, Result.BEGUN, 100, 100),
        *(Outcome(Kind.LIVE, Result.ANSWERED, at, at + 0.1, sentences=1) for at in range(100, 109)),
        Outcome(Kind.LIVE, Result.REPEATED, 105, 105, code="connection_lost"),
    ],
    [Sample(at, 10**8, 4 * 10**8, 60, None if at == 105 else 10**6) for at in range(100, 110)],
    [Struck("Redis killed", 104, 106)],
)
REPORT = Report(
    "faults",
    {"rate": 20.0},
    {"sentences": 9},
    [Check("nothing is lost", True, "0"), Check("live, ms at 99 %", False, "<5")],
    all_plots(RAN),
)


def test_curves_are_those_of_the_run() -> None:
    """Times count from the beginning of the run, and faults are shaded while they lasted."""
    rates, spoken, memory, descriptors = REPORT.plots
    assert set(rates.lines) == {"sentences translated", "repeated"}
    assert sum(value for _, value in rates.lines["sentences translated"]) == 9
    assert [(span.began, span.ended) for span in rates.spans] == [(4, 6)]
    assert {round(value) for _, value in spoken.lines["99 %"]} == {100}
    assert len(memory.lines["data in Redis"]) == len(memory.lines["workers"]) - 1
    assert {value for _, value in descriptors.lines["service and workers"]} == {60.0}


def test_page_shows_verdicts_figures_and_pictures() -> None:
    """The page needs no other files, and measured text is escaped."""
    shown = page(REPORT)
    assert shown.count("<svg") == 4
    for part in ("does not hold", "nothing is lost", "&lt;5", "<td>sentences</td>"):
        assert part in shown
    assert "src=" not in shown
    assert "<link" not in shown
    assert "mathdefault" not in shown, "numbers of an axis are spelt as formulas"


def test_report_is_written_for_people_and_machines(tmp_path: Path) -> None:
    """HTML and JSON, under the name of its command."""
    write(REPORT, tmp_path)
    written = orjson.loads((tmp_path / "faults.json").read_bytes())
    assert written["figures"] == {"sentences": 9}
    assert written["holds"] is False
    assert (tmp_path / "faults.html").read_text().startswith("<!doctype html>")


def test_report_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk, say, no half-written file takes its place."""
    write(REPORT, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(replace(REPORT, figures={}), tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
