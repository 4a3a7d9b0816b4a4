"""What must hold after a run, and what was counted: pure comparisons of what has become of the users' wishes."""

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
"""Within which a replica has to end: Compose gives it no more, Kubernetes a little, once its preStop hook is over."""
PERCENTILES = (50, 95, 99)
MEASURED: tuple[str, ...] = (Kind.LIVE, FIRST_EVENT, Kind.EVENTS, Kind.DOCUMENT)
"""What has a time worth knowing: a spoken sentence, the first sentence by events, all of them, a whole document."""

OUTAGE = frozenset({CONNECTION_LOST, "closed_1012", "session_store_unavailable", "shutting_down", "model_not_ready"})
"""Codes that a client may meet while a fault lasts, and repeats."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may cost its users."""

    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """For what is measured, the longest times at 50, 95 and 99 %."""
    explained: frozenset[str] = frozenset()
    """Codes for which users may have to repeat."""
    refusals: bool = False
    """Whether they may be told that there are too many."""


def judge(ran: Ran, budget: Budget) -> list[Check]:
    """Whether everybody has been served as must be."""
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
    """What was counted and measured."""
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
    """How long everything of a kind that was answered has taken, in seconds."""
    return [outcome.seconds for outcome in outcomes if outcome.what == what and outcome.result is Result.ANSWERED]


def in_time(outcomes: Sequence[Outcome], budget: Mapping[str, Sequence[float]]) -> list[Check]:
    """Whether what was answered was answered in time; what never was answered is not in time either."""
    checks = []
    for what, longest in budget.items():
        found = times(outcomes, what) or [float("inf")]
        checks += [
            no_more(f"{what}, ms at {percent} %", 1000 * percentile(found, percent), 1000 * mark)
            for percent, mark in zip(PERCENTILES, longest, strict=True)
        ]
    return checks


def all_left(outcomes: Sequence[Outcome]) -> Check:
    """Nobody is lost on the way."""
    came, left = (
        sum(outcome.what == ARRIVAL and outcome.result is result for outcome in outcomes)
        for result in (Result.BEGUN, Result.ENDED)
    )
    return Check("every user comes to an end", came == left and came > 0, f"{left} of {came}")


def never_wrong(outcomes: Sequence[Outcome], wrong: Wrong) -> Check:
    """Nothing is wrong in this way."""
    found = sum(outcome.result is Result.WRONG and outcome.code.startswith(wrong) for outcome in outcomes)
    return Check(f"nothing is {wrong}", not found, str(found))


def none(name: str, outcomes: Sequence[Outcome], result: Result) -> Check:
    """Nothing ends so."""
    return Check(name, *_empty([outcome for outcome in outcomes if outcome.result is result]))


def only_explained(outcomes: Sequence[Outcome], explained: frozenset[str]) -> Check:
    """Users had to repeat for none but these reasons."""
    repeated = [outcome for outcome in outcomes if outcome.result is Result.REPEATED]
    return Check("no error is unexplained", *_empty([one for one in repeated if one.code not in explained]))


def struck(happened: Sequence[Struck], planned: int) -> list[Check]:
    """Everything went wrong that was to, while users were there, and nothing else: all was well again each time."""
    failures = [f"{fault.name}: {fault.failure}" for fault in happened if fault.failure]
    return [
        Check("every planned fault has struck in time", len(happened) == planned, f"{len(happened)} of {planned}"),
        Check("all is well again after each fault", not failures, "; ".join(failures) or "0 are not"),
    ]


def ended_well(ends: Sequence[End]) -> list[Check]:
    """Each replica that was told to end did so by itself, before anybody would have killed it; of none, none."""
    if not ends:
        return []
    statuses = [end.status for end in ends]
    return [
        Check("every replica ends with status 0", not any(statuses), str(statuses)),
        no_more("a replica ends, seconds", max(end.seconds for end in ends), GRACE_SECONDS),
    ]


def forgotten(sessions: int | None) -> Check:
    """No session outlives its user."""
    found = "Redis does not answer" if sessions is None else str(sessions)
    return Check("no session is left in Redis", sessions == 0, found)


def foreseen(errors: Sequence[str]) -> Check:
    """No service has logged an error that nobody has foreseen."""
    return Check("no service has met an unforeseen error", not errors, "; ".join([str(len(errors)), *errors[:3]]))


def none_died(died: int, killed: int) -> Check:
    """No worker has ended that nobody has killed."""
    return Check("no worker has died by itself", died <= killed, f"{died}, of which {killed} were killed")


def _empty(found: Sequence[Outcome]) -> tuple[bool, str]:
    codes = Counter(outcome.code for outcome in found).most_common(3)
    return not found, "; ".join([str(len(found)), *(f"{code}: {count}" for code, count in codes)])
