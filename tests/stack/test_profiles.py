"""Small runs of the profiles of `python -m loadtests`: three kinds of user, on real processes."""

import random
from dataclasses import replace

import pytest

from loadtests.documents import made_up
from loadtests.profiles import capacity, disturbance, endurance, overload
from loadtests.report.report import Check, Report
from loadtests.stage.processes import ROOT
from loadtests.stage.stage import Setting

SHIPPED = ROOT / "models" / "pretrained" / "ja-en"
STAND_IN = Setting(SHIPPED, replicas=2, workers=1, stand_in_seconds=0.005)
DOCUMENTS = tuple(document[:8] for document in made_up(random.Random(1), 6))


def missed(report: Report) -> list[Check]:
    """The checks that failed, except for mere slowness, which depends on the machine; a missing answer is a failure."""
    return [check for check in report.checks if not check.holds and not _was_slow(check)]


def _was_slow(check: Check) -> bool:
    return ", ms at " in check.name and not check.found.startswith("inf")


def nobody(_: float) -> None:
    """Ignore the progress."""


def test_smoke() -> None:
    """Run the shipped model for long enough for all kinds of user to come and go."""
    report = endurance.smoke(endurance.Plan(rate=8, seconds=8), Setting(SHIPPED, workers=1), DOCUMENTS, nobody)
    assert missed(report) == []
    assert {"live, answers", "first event, answers", "document, answers"} <= set(report.figures)
    assert report.plots


@pytest.mark.slow
def test_faults() -> None:
    """Everything fails once, but nothing is lost, out of order, or different from an undisturbed run."""
    report = disturbance.faults(disturbance.Plan(rate=20, seconds=60), STAND_IN, DOCUMENTS, nobody)
    assert missed(report) == []
    assert report.figures["repeated: session_store_unavailable"]


@pytest.mark.slow
def test_rolling() -> None:
    """Every replica is restarted, and nobody is turned away."""
    report = disturbance.rolling(disturbance.Plan(rate=20, seconds=15), STAND_IN, DOCUMENTS, nobody)
    assert missed(report) == []
    assert report.figures["repeated: closed_1012"]


@pytest.mark.slow
def test_capacity() -> None:
    """Two workers at 20 ms per sentence can do 100 sentences a second, and a third more while a stage lasts."""
    slow = replace(STAND_IN, replicas=1, workers=2, stand_in_seconds=0.02)
    report = capacity.run(capacity.Plan(first_rate=30, seconds=6), slow, DOCUMENTS, nobody)
    assert missed(report) == []
    knee = report.figures["knee, sentences/s"]
    assert isinstance(knee, float)
    assert knee <= 150  # answers are in time even after two seconds in the queue


@pytest.mark.slow
def test_overload() -> None:
    """At three times the capacity the excess is refused, and nothing that was admitted fails."""
    slow = replace(STAND_IN, replicas=1, workers=2, stand_in_seconds=0.02)
    report = overload.run(overload.Plan(seconds=8), slow, DOCUMENTS, nobody)
    depends_on_the_machine = {"tokens translated, as a part of the capacity", "median of a refusal, ms"}
    assert {check.name for check in missed(report)} <= depends_on_the_machine
    assert report.figures["refused: queue_full"]
