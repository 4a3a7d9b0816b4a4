"""What must hold after a run, and what was counted in it: pure functions of its outcomes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadtests.outcomes import ARRIVAL, Outcome, Result
from loadtests.report.report import Check, Value, no_more, percentile
from loadtests.scenario import Kind
from loadtests.stage.deployment import End
from loadtests.stage.faults import Struck
from loadtests.stage.stage import Ran
from loadtests.users.balancer import CONNECTION_LOST
from loadtests.users.conversation import Wrong
from loadtests.users.documents import FIRST_EVENT

GRACE_SECONDS = 45
"""Time within which a replica has to end: Compose allows no more; Kubernetes, after its preStop hook, a little more."""
PERCENTILES = (50, 95, 99)
MEASURED: tuple[str, ...] = (Kind.LIVE, FIRST_EVENT, Kind.EVENTS, Kind.DOCUMENT)
"""What is timed: a spoken sentence, the first sentence by events, all sentences by events, and a whole document."""

OUTAGE = frozenset({CONNECTION_LOST, "closed_1012", "session_store_unavailable", "shutting_down", "model_not_ready"})
"""Codes that a client may get, and retries after, while a fault lasts."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may cost its users."""

    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """The longest times allowed at the 50th, 95th and 99th percentile, by what is timed."""
    explained: frozenset[str] = frozenset()
    """Codes after which users may have to retry."""
    refusals: bool = False
    """Whether users may be refused because there are too many."""


def judge(ran: Ran, budget: Budget) -> list[Check]:
    """Check that everybody was served as they must be."""
    return [
        all_left(ran.outcomes),
        *(never_wrong(ran.outcomes, wrong) for wrong in Wrong),
        none("no request fails", ran.outcomes, Result.FAILED),
        *([] if budget.refusals else [none("no request is refused", ran.outcomes, Result.REFUSED)]),
        only_explained(ran.outcomes, budget.explained),
        forgotten(ran.sessions_left),
        foreseen(ran.unforeseen),
        none_died(ran.workers_died, ran.workers_killed),
        *in_time(ran.outcomes, budget.seconds),
    ]


def figures(ran: Ran) -> dict[str, Value]:
    """Return what was counted and measured."""
    outcomes, seconds = ran.outcomes, max(ran.ended - ran.began, 1e-9)
    translated = sum(outcome.sentences for outcome in outcomes)
    counted: dict[str, Value] = {
        "seconds": seconds,
        "sentences": translated,
        "sentences/s": translated / seconds,
        "users": sum(outcome.result is Result.BEGUN for outcome in outcomes),
    }
    for what in MEASURED:
        if found := times(outcomes, what):
            counted[f"{what}, answers"] = len(found)
            counted |= {f"{what}, {percent} %, ms": 1000 * percentile(found, percent) for percent in PERCENTILES}
    shown = (Result.REPEATED, Result.REFUSED, Result.FAILED, Result.WRONG, Result.NOTED)
    codes = Counter(f"{outcome.result}: {outcome.code}" for outcome in outcomes if outcome.result in shown)
    return counted | dict(sorted(codes.items()))


def times(outcomes: Sequence[Outcome], what: str) -> list[float]:
    """Return how long each answer of a kind took, in seconds."""
    return [outcome.seconds for outcome in outcomes if outcome.what == what and outcome.result is Result.ANSWERED]


def in_time(outcomes: Sequence[Outcome], budget: Mapping[str, Sequence[float]]) -> list[Check]:
    """Check that answers came in time; a kind without any answer is not in time, either."""
    checks = []
    for what, longest in budget.items():
        found = times(outcomes, what) or [float("inf")]
        checks += [
            no_more(f"{what}, ms at {percent} %", 1000 * percentile(found, percent), 1000 * mark)
            for percent, mark in zip(PERCENTILES, longest, strict=True)
        ]
    return checks


def all_left(outcomes: Sequence[Outcome]) -> Check:
    """Check that nobody was lost on the way."""
    came, left = (
        sum(outcome.what == ARRIVAL and outcome.result is result for outcome in outcomes)
        for result in (Result.BEGUN, Result.ENDED)
    )
    return Check("every user comes to an end", came == left and came > 0, f"{left} of {came}")


def never_wrong(outcomes: Sequence[Outcome], wrong: Wrong) -> Check:
    """Check that nothing was wrong in this way."""
    found = sum(outcome.result is Result.WRONG and outcome.code.startswith(wrong) for outcome in outcomes)
    return Check(f"nothing is {wrong}", not found, str(found))


def none(name: str, outcomes: Sequence[Outcome], result: Result) -> Check:
    """Check that nothing had this result."""
    return Check(name, *_empty([outcome for outcome in outcomes if outcome.result is result]))


def only_explained(outcomes: Sequence[Outcome], explained: frozenset[str]) -> Check:
    """Check that users had to retry for these reasons only."""
    repeated = [outcome for outcome in outcomes if outcome.result is Result.REPEATED]
    return Check("no error is unexplained", *_empty([one for one in repeated if one.code not in explained]))


def struck(happened: Sequence[Struck], planned: int) -> list[Check]:
    """Check that every planned fault struck while users were there, and that all was well again after each."""
    failures = [f"{fault.name}: {fault.failure}" for fault in happened if fault.failure]
    return [
        Check("every planned fault has struck in time", len(happened) == planned, f"{len(happened)} of {planned}"),
        Check("all is well again after each fault", not failures, "; ".join(failures) or "0 are not"),
    ]


def ended_well(ends: Sequence[End]) -> list[Check]:
    """Check that each replica told to end did so by itself and in time; no checks if there was none."""
    if not ends:
        return []
    statuses = [end.status for end in ends]
    return [
        Check("every replica ends with status 0", not any(statuses), str(statuses)),
        no_more("a replica ends, seconds", max(end.seconds for end in ends), GRACE_SECONDS),
    ]


def forgotten(sessions: int | None) -> Check:
    """Check that no session outlived its user."""
    found = "Redis does not answer" if sessions is None else str(sessions)
    return Check("no session is left in Redis", sessions == 0, found)


def foreseen(errors: Sequence[str]) -> Check:
    """Check that no service logged an unforeseen error."""
    return Check("no service has met an unforeseen error", not errors, "; ".join([str(len(errors)), *errors[:3]]))


def none_died(died: int, killed: int) -> Check:
    """Check that no worker ended except those that were killed."""
    return Check("no worker has died by itself", died <= killed, f"{died}, of which {killed} were killed")


def _empty(found: Sequence[Outcome]) -> tuple[bool, str]:
    codes = Counter(outcome.code for outcome in found).most_common(3)
    return not found, "; ".join([str(len(found)), *(f"{code}: {count}" for code, count in codes)])
