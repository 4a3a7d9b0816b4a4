"""Load while things go wrong (faults), or while replicas are restarted in turn (rolling): users must notice little."""

import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final

from loadtests.documents import Documents
from loadtests.report.plots import all_plots
from loadtests.report.report import Report, Value
from loadtests.report.verdicts import OUTAGE, Budget, ended_well, figures, judge, struck
from loadtests.scenario import Kind, Open
from loadtests.stage.faults import (
    Timeline,
    clocks_wrong,
    evenly,
    redis_file_stuck,
    redis_full,
    redis_killed,
    redis_paused,
    redis_slow,
    replica_ended,
    worker_killed,
)
from loadtests.stage.stage import Behaviour, Setting, staged
from loadtests.users.balancer import CONNECTION_LOST
from loadtests.users.documents import FIRST_EVENT

FAULTS: Final = Budget({Kind.LIVE: (1, 15, 30), FIRST_EVENT: (2, 15, 30), Kind.DOCUMENT: (5, 20, 40)}, explained=OUTAGE)
ROLLING: Final = Budget(
    {Kind.LIVE: (1, 5, 10), FIRST_EVENT: (2, 8, 15), Kind.DOCUMENT: (5, 15, 30)},
    explained=frozenset({CONNECTION_LOST, "closed_1012", "shutting_down"}),
)
_PATIENCE_SECONDS: Final = 90.0
"""Far longer than any fault lasts."""
_HOUR, _TEN_MINUTES = 3600.0, 600.0
"""Seconds by which the clocks of the replicas (an hour) and of Redis (ten minutes) are wrong for a while."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    rate: float = 20.0
    """Sentences a second."""
    seconds: float = 150.0
    rounds: int = 1
    """How often each replica is restarted; for `rolling` only."""
    seed: int = 1


def faults(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Run a load during which every kind of fault strikes, one after the other.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    last = setting.replicas - 1
    wrong = [_HOUR if number % 2 else -_HOUR for number in range(setting.replicas)] + [_TEN_MINUTES]
    timeline = evenly(
        [
            redis_killed(2.0),
            worker_killed(0),
            redis_paused(4.0),
            clocks_wrong(8.0, wrong),
            redis_slow(5.0),
            replica_ended(last, signal.SIGKILL),
            redis_full(3.0),
            redis_file_stuck(4.0),
        ]
    )
    return _run("faults", plan, replace(setting, own_clocks=True), documents, FAULTS, timeline, on_progress)


def rolling(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Run a load during which one replica after another is told to end, and started again.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    timeline = evenly([replica_ended(number, signal.SIGTERM) for number in [*range(setting.replicas)] * plan.rounds])
    return _run("rolling", plan, setting, documents, ROLLING, timeline, on_progress)


def _run(
    name: str,
    plan: Plan,
    setting: Setting,
    documents: Documents,
    budget: Budget,
    timeline: Timeline,
    on_progress: Callable[[float], object],
) -> Report:
    with staged(setting, documents) as stage:
        ran = stage.run(
            Open(rate=plan.rate, seconds=plan.seconds),
            Behaviour(patience_seconds=_PATIENCE_SECONDS, seed=plan.seed),
            timeline=timeline,
            on_progress=on_progress,
        )
    happened: dict[str, Value] = {
        f"{number}. {fault.name}, seconds until all was well again": fault.ended - fault.began
        for number, fault in enumerate(ran.struck, start=1)
        if not fault.failure
    }
    checks = [*struck(ran.struck, len(timeline)), *ended_well(ran.ends), *judge(ran, budget)]
    return Report(name, asdict(plan) | setting.conditions(), happened | figures(ran), checks, all_plots(ran))
