"""Load that the service can bear: for half a minute (smoke), or for long enough to see what grows (soak)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from loadtests.documents import Documents
from loadtests.report.plots import all_plots
from loadtests.report.report import Check, Report, no_more
from loadtests.report.verdicts import Budget, figures, judge
from loadtests.scenario import Kind, Open
from loadtests.stage.samples import Sample, growth
from loadtests.stage.stage import Behaviour, Setting, staged
from loadtests.users.documents import FIRST_EVENT

SMOKE: Final = Budget({Kind.LIVE: (2, 5, 10), FIRST_EVENT: (3, 8, 15), Kind.DOCUMENT: (10, 20, 30)})
"""So generous that only a service that hangs misses it, even on a slow machine with other work."""
SOAK: Final = Budget({Kind.LIVE: (0.3, 1, 2), FIRST_EVENT: (1, 2, 4), Kind.DOCUMENT: (3, 8, 15)})

_GROWTH, _GROWTH_MIB, _DESCRIPTORS = 0.05, 8, 10
"""Growth allowed from the second fifth of a soak to the last: 5 % plus 8 MiB per kind of memory; 10 descriptors."""
_MIB: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of a run."""

    rate: float
    """Sentences a second."""
    seconds: float
    sample_seconds: float = 1.0
    seed: int = 1


def smoke(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Check that everybody is served as they must be.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    return _run("smoke", plan, setting, documents, SMOKE, on_progress)


def soak(plan: Plan, setting: Setting, documents: Documents, on_progress: Callable[[float], object]) -> Report:
    """Check the same for a long time, and that neither memory nor file descriptors grow.

    Raises:
        LoadTestError, BundleError: the load test cannot be run.
    """
    return _run("soak", plan, setting, documents, SOAK, on_progress)


def steady(samples: Sequence[Sample]) -> list[Check]:
    """Check that what the processes hold no longer grows once they are warm."""
    memory: dict[str, list[float]] = {
        "HTTP processes": [sample.service_bytes / _MIB for sample in samples],
        "workers": [sample.worker_bytes / _MIB for sample in samples],
        "Redis": [sample.redis_bytes / _MIB for sample in samples if sample.redis_bytes is not None],
    }
    checks = [
        no_more(f"growth of the memory of {name}, MiB", growth(values), _GROWTH * values[0] + _GROWTH_MIB)
        for name, values in memory.items()
    ]
    return [
        *checks,
        no_more("growth of open file descriptors", growth([float(one.descriptors) for one in samples]), _DESCRIPTORS),
    ]


def _run(
    name: str,
    plan: Plan,
    setting: Setting,
    documents: Documents,
    budget: Budget,
    on_progress: Callable[[float], object],
) -> Report:
    with staged(setting, documents) as stage:
        ran = stage.run(
            Open(rate=plan.rate, seconds=plan.seconds),
            Behaviour(seed=plan.seed),
            sample_seconds=plan.sample_seconds,
            on_progress=on_progress,
        )
    checks = judge(ran, budget) + (steady(ran.samples) if budget is SOAK else [])
    return Report(name, asdict(plan) | setting.conditions(), figures(ran), checks, all_plots(ran))
