import pytest

from loadtests.errors import LoadTestError
from loadtests.outcomes import ARRIVAL, Outcome, Result
from loadtests.profiles.overload import Plan, capacity_of, verdicts
from loadtests.scenario import Kind
from loadtests.stage.samples import Sample, Work
from loadtests.stage.stage import Ran

PLAN = Plan(seconds=10)


def outcomes(served: int, refused: int, *, refusal_seconds: float = 0.01, failed: int = 0) -> list[Outcome]:
    """Outcomes of the ten seconds of the plan, with so many of each kind a second."""
    found = [Outcome(ARRIVAL, Result.BEGUN, 0, 0), Outcome(ARRIVAL, Result.ENDED, 0, 10)]
    for second in range(10):
        at = second + 0.5
        found += [Outcome(Kind.DOCUMENT, Result.ANSWERED, at - 2, at, sentences=1)] * served
        found += [Outcome(Kind.DOCUMENT, Result.REFUSED, at - refusal_seconds, at, code="queue_full")] * refused
        found += [Outcome(Kind.DOCUMENT, Result.FAILED, at, at, code="internal_error")] * failed
    return found


def missed(found: list[Outcome], translated: int = 10, quiet: list[Outcome] | None = None) -> set[str]:
    """The checks that fail at a capacity of 10 sentences of 30 tokens a second, if `translated` a second are done."""
    samples = [Sample(second, 0, 0, 0, 0, Work(second * translated, second * 30 * translated)) for second in range(11)]
    drained = Sample(12, 0, 0, 0, 0, Work(10**6, 10**8))
    ran = Ran(0, 12, found, [*samples, drained])
    before = Ran(0, 12, quiet or outcomes(served=10, refused=0))
    return {check.name for check in verdicts(PLAN, before, ran, Work(10, 300)) if not check.holds}


def test_excess_that_is_refused_at_once_passes() -> None:
    """All checks hold if the service serves its capacity and quickly refuses the rest."""
    assert missed(outcomes(served=10, refused=20)) == set()


def test_each_fault_is_found() -> None:
    """A failure, slow refusals, lower throughput, and no refusals at all each fail the check meant for them."""
    assert missed(outcomes(10, 20, failed=1)) == {"no request fails"}
    assert missed(outcomes(10, 20, refusal_seconds=0.06)) == {"median of a refusal, ms"}
    assert missed(outcomes(8, 22), translated=8) == {"tokens translated, as a part of the capacity"}
    assert missed(outcomes(10, 0)) == {"the excess is refused"}


def test_failure_while_the_capacity_is_measured_is_found() -> None:
    """It would make the capacity, and so what is demanded of the service, look smaller."""
    assert missed(outcomes(10, 20), quiet=outcomes(9, 0, failed=1)) == {"capacity: no request fails"}


def test_a_service_that_does_nothing_has_no_capacity() -> None:
    """A rate that is a multiple of it could not be asked for, so the run ends with an error."""
    assert (
        capacity_of(Ran(0, 10, [], [Sample(at, 0, 0, 0, 0, Work(at, 30 * at)) for at in range(11)]), PLAN).tokens == 30
    )
    with pytest.raises(LoadTestError, match="nothing was translated in the second half of the 10 s"):
        capacity_of(Ran(0, 10, [], [Sample(at, 0, 0, 0, 0, Work(5, 150)) for at in range(11)]), PLAN)


def test_refusals_on_streams_are_not_timed() -> None:
    """On a stream, a refusal has to wait for the answers to the sentences before it."""
    slow = [Outcome(Kind.LIVE, Result.REFUSED, 0, 5, code="queue_full")] * 1000
    assert missed([*outcomes(10, 20), *slow]) == set()
