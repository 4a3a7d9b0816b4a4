from typing import Any

import pytest

from loadtests.outcomes import ARRIVAL, Outcome, Result
from loadtests.report.verdicts import Budget, ended_well, figures, judge, struck
from loadtests.scenario import Kind
from loadtests.stage.deployment import End
from loadtests.stage.faults import Struck
from loadtests.stage.stage import Ran
from loadtests.users.balancer import CONNECTION_LOST
from loadtests.users.conversation import Wrong

SERVED = [
    Outcome(ARRIVAL, Result.BEGUN, 0, 0),
    Outcome(Kind.LIVE, Result.ANSWERED, 1, 1.2, sentences=1),
    Outcome(Kind.LIVE, Result.REPEATED, 2, 2, code=CONNECTION_LOST),
    Outcome(Kind.LIVE, Result.ANSWERED, 2, 2.4, sentences=1),
    Outcome(ARRIVAL, Result.ENDED, 3, 3),
]
BUDGET = Budget({Kind.LIVE: (0.3, 0.5, 0.5)}, explained=frozenset({CONNECTION_LOST}))


def missed(*more: Outcome, budget: Budget = BUDGET, **found: Any) -> set[str]:
    """The checks that fail if `more` outcomes are added to those of SERVED."""
    return {check.name for check in judge(Ran(0, 10, [*SERVED, *more], **found), budget) if not check.holds}


def test_everybody_served_passes() -> None:
    """All checks hold, even with repetitions that are explained."""
    assert missed() == set()


@pytest.mark.parametrize(
    ("outcome", "check"),
    [
        (Outcome(ARRIVAL, Result.BEGUN, 4, 4), "every user comes to an end"),
        (Outcome(Kind.LIVE, Result.WRONG, 4, 4, code=f"{Wrong.LOST}: one"), "nothing is lost or doubled"),
        (Outcome(Kind.LIVE, Result.WRONG, 4, 4, code=f"{Wrong.MISPLACED}: one"), "nothing is out of order"),
        (Outcome(Kind.EVENTS, Result.WRONG, 4, 4, code=Wrong.DIFFERENT), "nothing is different from a quiet run"),
        (Outcome(Kind.LIVE, Result.WRONG, 4, 4, code=Wrong.REFUSED), "nothing is refused without a reason"),
        (Outcome(Kind.DOCUMENT, Result.FAILED, 4, 5, code="internal_error"), "no request fails"),
        (Outcome(Kind.DOCUMENT, Result.REFUSED, 4, 5, code="queue_full"), "no request is refused"),
        (Outcome(Kind.LIVE, Result.REPEATED, 4, 5, code="worker_died"), "no error is unexplained"),
        (Outcome(Kind.LIVE, Result.ANSWERED, 4, 9), "live, ms at 99 %"),
    ],
)
def test_each_thing_that_is_wrong_is_found(outcome: Outcome, check: str) -> None:
    """One bad outcome among many fails its check."""
    assert check in missed(outcome)


def test_what_is_left_behind_is_found() -> None:
    """Sessions that no user has any more, a Redis that cannot tell, and errors in a log are found."""
    assert missed(sessions_left=1) == {"no session is left in Redis"}
    assert missed(sessions_left=None) == {"no session is left in Redis"}
    assert missed(unforeseen=("worker_crashed",)) == {"no service has met an unforeseen error"}


def test_worker_that_dies_by_itself_is_found() -> None:
    """No more workers may die than were killed."""
    assert missed(workers_died=1, workers_killed=1) == set()
    assert missed(workers_died=1) == missed(workers_died=2, workers_killed=1) == {"no worker has died by itself"}


def test_what_never_was_answered_is_not_in_time() -> None:
    """A budget for documents is missed if no document was answered."""
    assert missed(budget=Budget({Kind.DOCUMENT: (1, 1, 1)}, BUDGET.explained)) == {
        "document, ms at 50 %",
        "document, ms at 95 %",
        "document, ms at 99 %",
    }


def test_fault_that_came_too_late_is_found() -> None:
    """Every fault must strike while there are users."""
    fault = Struck("Redis killed", 1, 2)
    assert [check.holds for check in struck([fault] * 3, 3)] == [True, True]
    assert [check.holds for check in struck([fault] * 2, 3)] == [False, True]


def test_fault_after_which_something_is_ill_is_found() -> None:
    """The fault counts as one that struck in time, and the failed check names it with the reason."""
    well, ill = Struck("Redis killed", 1, 2), Struck("worker killed", 3, 4, "never happened: all is well")
    in_time, again = struck([well, ill], 2)
    assert (in_time.holds, again.holds) == (True, False)
    assert again.found == "worker killed: never happened: all is well"


def test_replica_that_ends_badly_is_found() -> None:
    """Its status is not 0, or it took so long that it would have been killed."""
    assert not ended_well([])
    assert [check.holds for check in ended_well([End(0, 3.0), End(0, 44.0)])] == [True, True]
    assert [check.holds for check in ended_well([End(0, 3.0), End(-6, 46.0)])] == [False, False]


def test_figures_count_what_has_happened() -> None:
    """Figures give sentences, their times, and a count for each reason to repeat a request."""
    found = figures(Ran(0, 10, SERVED))
    assert found["sentences"] == 2
    assert found["sentences/s"] == 0.2
    assert found["live, 50 %, ms"] == pytest.approx(300)
    assert found["repeated: connection_lost"] == 1
