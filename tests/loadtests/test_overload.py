from loadtests.overload import Answered, Plan, judge
from loadtests.report import Report

PLAN = Plan(seconds=10, service_seconds=None)


def verdicts(capacity: float, answers: list[Answered]) -> dict[str, bool]:
    """Whether each check holds."""
    report = judge(PLAN, capacity, answers)
    assert isinstance(report, Report)
    return {check.name: check.holds for check in report.checks}


def answers(served: int, refused: int, *, refusal_seconds: float = 0.01, failed: int = 0) -> list[Answered]:
    """So many a second of each, for the ten seconds of the plan."""
    return [
        Answered(at=second + 0.5, seconds=seconds, status=status)
        for second in range(10)
        for status, seconds, count in ((200, 2.0, served), (429, refusal_seconds, refused), (500, 0.1, failed))
        for _ in range(count)
    ]


def test_excess_that_is_refused_at_once_passes() -> None:
    """As much as the capacity is served, and the rest is refused quickly."""
    assert all(verdicts(10, answers(served=10, refused=20)).values())


def test_each_fault_is_found() -> None:
    """A failure, slow refusals, throughput that breaks down, and no refusal at all are each found."""
    assert not verdicts(10, answers(10, 20, failed=1))["nothing that is admitted fails"]
    assert not verdicts(10, answers(10, 20, refusal_seconds=0.06))["median of a refusal, ms"]
    assert not verdicts(10, answers(8, 22))["served, as a part of the capacity"]
    assert not verdicts(10, answers(10, 0))["the excess is refused"]


def test_what_is_answered_after_the_last_arrival_is_no_throughput() -> None:
    """The queue that is worked off in the end does not count."""
    late = [Answered(at=12, seconds=3, status=200)] * 1000
    assert not verdicts(10, [*answers(8, 22), *late])["served, as a part of the capacity"]
