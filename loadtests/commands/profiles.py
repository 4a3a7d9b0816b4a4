"""The commands that let all kinds of user come."""

import sys
from typing import Annotated

import typer

from loadtests import capacity as capacity_test
from loadtests import disturbance, endurance
from loadtests import overload as overload_test
from loadtests.commands.options import Common, Rate, Seconds, profile, shares
from loadtests.report import Report


@profile(documents=10)
def smoke(common: Common, rate: Rate = 10, seconds: Seconds = 30) -> Report:
    """Half a minute of all kinds of user: everybody is served as must be."""
    plan = endurance.Plan(rate, seconds, seed=common.seed)
    with shares() as done:
        return endurance.smoke(plan, common.setting, common.choice(), done)


@profile()
def soak(
    common: Common,
    rate: Rate = 30,
    minutes: Annotated[float, typer.Option(min=0.5, help="That users keep coming.")] = 60,
) -> Report:
    """Load that the service can bear, for long: neither memory nor file descriptors grow."""
    plan = endurance.Plan(rate, 60 * minutes, sample_seconds=5, seed=common.seed)
    with shares() as done:
        return endurance.soak(plan, common.setting, common.choice(), done)


@profile()
def capacity(
    common: Common,
    first_rate: Annotated[float, typer.Option(min=0.1, help="Sentences a second that are tried first.")] = 20,
    seconds: Annotated[float, typer.Option(min=1, help="Of each rate.")] = 30,
    within: Annotated[float, typer.Option(min=0.1, help="Seconds for 99 % of the spoken sentences.")] = 2,
) -> Report:
    """The knee: the highest rate of arrivals at which users still get their answers in time."""
    plan = capacity_test.Plan(first_rate, seconds, within, common.seed)
    return capacity_test.run(
        plan,
        common.setting,
        common.choice(),
        lambda rate: print(f"trying {rate:.1f} sentences a second", file=sys.stderr),
    )


@profile()
def overload(
    common: Common,
    seconds: Annotated[float, typer.Option(min=1, help="Of each of the two measurements.")] = 30,
    excess: Annotated[float, typer.Option(min=1, help="Arrivals as a multiple of the capacity.")] = 3,
) -> Report:
    """Three times the capacity: the excess is refused at once, what is admitted is served, and throughput stays."""
    plan = overload_test.Plan(seconds=seconds, excess=excess, seed=common.seed)
    with shares() as done:
        return overload_test.run(plan, common.setting, common.choice(), done)


@profile(replicas=2, workers=1, documents=30)
def faults(common: Common, rate: Rate = 20, seconds: Seconds = 150) -> Report:
    """Redis killed, paused, slow, full, unable to write; a worker, a replica killed; clocks wrong: nothing is lost."""
    plan = disturbance.Plan(rate, seconds, seed=common.seed)
    with shares() as done:
        return disturbance.faults(plan, common.setting, common.choice(), done)


@profile(replicas=3, workers=1, documents=30)
def rolling(
    common: Common,
    rate: Rate = 20,
    seconds: Seconds = 120,
    rounds: Annotated[int, typer.Option(min=1, help="How often each replica is restarted.")] = 2,
) -> Report:
    """Rolling restart under load: no request fails."""
    plan = disturbance.Plan(rate, seconds, rounds, common.seed)
    with shares() as done:
        return disturbance.rolling(plan, common.setting, common.choice(), done)
