"""Overload: what a service does with three times as many requests as it can answer.

Its capacity is measured first, by a fixed number of users, each followed by another on leaving. Then users come at
random moments, whether or not the service keeps up, and most must be refused: at once, so that they can go elsewhere,
and without harm to those who were admitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median

from loadtests.documents import Documents
from loadtests.errors import LoadTestError
from loadtests.outcomes import Outcome, Result
from loadtests.report.plots import all_plots
from loadtests.report.report import Check, Report, Value, at_least, no_more, percentile
from loadtests.report.verdicts import Budget, figures, judge
from loadtests.scenario import Closed, Kind, Open
from loadtests.stage.samples import Work, steady_rate
from loadtests.stage.stage import Behaviour, Ran, Setting, staged

REFUSAL_SECONDS = 0.050
"""The longest that the median refusal may take."""
THROUGHPUT = 0.9
"""The part of its capacity that a service must still achieve under overload."""
_MIXED = {Kind.LIVE: 0.5, Kind.EVENTS: 0.5}
"""The kinds in both measurements: a session's sentences cost more than a document's, which share their contexts.

The shares are those of arrivals. While the capacity is measured, they depend on how fast each kind is served.
"""
_CLIENTS = 8
"""Users of each kind who measure the capacity."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    seconds: float = 30.0
    """Length of each of the two measurements."""
    excess: float = 3.0
    """Arrivals, as a multiple of the capacity."""
    queue_limit: int = 128
    """In sentences; small, so that the queue is full for most of a short run."""
    seed: int = 1


def run(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Measure the capacity, then exceed it.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    tight = replace(setting, settings={**setting.settings, "queue_limit": str(plan.queue_limit)})
    users = Behaviour(shares=_MIXED, seed=plan.seed)
    with staged(tight, documents) as stage:
        quiet = stage.run(Closed(clients=_CLIENTS, seconds=plan.seconds), users, on_progress=on_progress)
        capacity = capacity_of(quiet, plan)
        much = Open(rate=plan.excess * capacity.sentences, seconds=plan.seconds)
        ran = stage.run(much, users, on_progress=on_progress)
    conditions = asdict(plan) | tight.conditions()
    able = {"capacity, sentences/s": capacity.sentences, "capacity, tokens/s": capacity.tokens}
    found = able | refusals(ran) | figures(ran)
    return Report("overload", conditions, found, verdicts(plan, quiet, ran, capacity), all_plots(ran))


def capacity_of(quiet: Ran, plan: Plan) -> Work:
    """Return the work done per second while every user waits for answers.

    Raises:
        LoadTestError: nothing was done, or it is not known what was.
    """
    capacity = steady_rate(quiet.samples, quiet.began, plan.seconds)
    if capacity.tokens <= 0:
        raise LoadTestError(f"nothing was translated in the second half of the {plan.seconds:g} s of its capacity")
    return capacity


def verdicts(plan: Plan, quiet: Ran, ran: Ran, capacity: Work) -> list[Check]:
    """Check that the excess was refused at once, and that what was admitted was served as fast as without it.

    Users not served while the capacity was measured count, too: what is lost there makes the capacity look smaller.
    """
    refused = _refused(ran.outcomes)
    ratio = steady_rate(ran.samples, ran.began, plan.seconds).tokens / capacity.tokens
    checks = [
        *(replace(check, name=f"capacity: {check.name}") for check in judge(quiet, Budget(refusals=True))),
        *judge(ran, Budget(refusals=True)),
        Check("the excess is refused", bool(refused), str(len(refused))),
        at_least("tokens translated, as a part of the capacity", ratio, THROUGHPUT),
    ]
    if refused:
        checks.append(no_more("median of a refusal, ms", 1000 * median(refused), 1000 * REFUSAL_SECONDS))
    return checks


def refusals(ran: Ran) -> dict[str, Value]:
    """Return how long refusals took."""
    refused = _refused(ran.outcomes)
    return {f"refusal, {percent} %, ms": 1000 * percentile(refused, percent) for percent in (50, 95, 99) if refused}


def _refused(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the times of refusals, except on streams, where they wait for the answers to earlier sentences."""
    refused = (outcome for outcome in outcomes if outcome.result is Result.REFUSED)
    return [outcome.seconds for outcome in refused if outcome.what != Kind.LIVE]
