"""Capacity: the highest arrival rate at which users still get their answers in time."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from loadtests.documents import Documents
from loadtests.profiles.knee import find_knee
from loadtests.report.plots import all_plots
from loadtests.report.report import Check, Plot, Report, Value, percentile
from loadtests.report.verdicts import Budget, figures, judge, times
from loadtests.scenario import Kind, Open
from loadtests.stage.stage import Behaviour, Ran, Setting, Stage, staged
from loadtests.users.documents import FIRST_EVENT

SLOWER: Final = {Kind.LIVE: 1.0, FIRST_EVENT: 1.5, Kind.DOCUMENT: 5.0}
"""How many times as long as a spoken sentence each may take, at the 99th percentile."""
_ANY: Final = float("inf")


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    first_rate: float = 20.0
    """Sentences a second; each further rate depends on whether the last one held."""
    seconds: float = 30.0
    """Seconds at each rate."""
    within: float = 2.0
    """Seconds within which 99 % of the spoken sentences must be answered."""
    seed: int = 1


def run(plan: Plan, setting: Setting, documents: Documents, on_rate: Callable[[float], object]) -> Report:
    """Search for the knee; `on_rate` is told of each rate before it is tried.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    with staged(setting, documents) as stage:
        search = _Search(plan, stage, on_rate)
        knee = find_knee(search.holds, plan.first_rate)
    cores = setting.replicas * setting.workers
    found: dict[str, Value] = {"knee, sentences/s": knee, "knee, sentences/s and worker": knee / cores}
    for rate, ran in sorted(search.ran.items()):
        found |= {f"at {rate:.4g}/s: {what}": value for what, value in _shown(ran).items()}
    checks = [check for ran in search.ran.values() for check in judge(ran, Budget(refusals=True)) if not check.holds]
    holding = Check("there is a rate at which all is in time", knee > 0, f"{knee:.4g} sentences/s")
    missed = "; ".join(f"{check.name}: {check.found}" for check in checks[:3])
    sound = Check("at no rate is anything lost, wrong or unexplained", not checks, missed or "0")
    plots = [_curve(plan, search.ran, knee), *(all_plots(search.ran[knee]) if knee else [])]
    return Report("capacity", asdict(plan) | setting.conditions(), found, [holding, sound], plots)


class _Search:
    """Tries rates, and keeps the result of each."""

    def __init__(self, plan: Plan, stage: Stage, on_rate: Callable[[float], object]) -> None:
        self._plan = plan
        self._stage = stage
        self._on_rate = on_rate
        self.ran: dict[float, Ran] = {}

    def holds(self, rate: float) -> bool:
        """Return whether all is in time at a rate, and nobody is refused."""
        self._on_rate(rate)
        ran = self._stage.run(Open(rate=rate, seconds=self._plan.seconds), Behaviour(seed=self._plan.seed))
        self.ran[rate] = ran
        within = {what: (_ANY, _ANY, self._plan.within * slower) for what, slower in SLOWER.items()}
        return all(check.holds for check in judge(ran, Budget(within)))


def _shown(ran: Ran) -> dict[str, Value]:
    counted = figures(ran)
    return {name: value for name, value in counted.items() if "99 %" in name or name == "sentences/s" or ": " in name}


def _curve(plan: Plan, ran: dict[float, Ran], knee: float) -> Plot:
    """Plot the 99th percentiles against the rate."""
    lines = {
        f"{what} (at most {plan.within * slower:g} s)": [
            (rate, percentile(found, 99)) for rate, one in sorted(ran.items()) if (found := times(one.outcomes, what))
        ]
        for what, slower in SLOWER.items()
    }
    title = f"Time at 99 %; all is in time up to {knee:.4g} sentences a second"
    return Plot(title, "sentences a second that arrive", "seconds", lines, logarithmic=True)
