"""The commands that let all kinds of user come."""

import sys
from typing import Annotated

import typer

from loadtests.commands.options import Common, Rate, Seconds, profile, shares
from loadtests.profiles import capacity as capacity_test
from loadtests.profiles import disturbance, endurance
from loadtests.profiles import overload as overload_test
from loadtests.report.report import Report
from models.commands.options import finite


@profile(documents=10)
def smoke(common: Common, rate: Rate = 10, seconds: Seconds = 30) -> Report:
    """Half a minute with all kinds of users: all of them must be served correctly."""
    plan = endurance.Plan(rate, seconds, seed=common.seed)
    with shares() as done:
        return endurance.smoke(plan, common.setting, common.choice(), done)


@profile()
def soak(
    common: Common,
    rate: Rate = 30,
    minutes: Annotated[float, typer.Option(min=0.5, callback=finite, help="How long users keep arriving.")] = 60,
) -> Report:
    """Sustainable load for a long time: neither memory nor file descriptors may grow."""
    plan = endurance.Plan(rate, 60 * minutes, sample_seconds=5, seed=common.seed)
    with shares() as done:
        return endurance.soak(plan, common.setting, common.choice(), done)


@profile()
def capacity(
    common: Common,
    first_rate: Annotated[
        float, typer.Option(min=0.1, callback=finite, help="Sentences per second to begin with.")
    ] = 20,
    seconds: Annotated[float, typer.Option(min=1, callback=finite, help="Seconds at each rate.")] = 30,
    within: Annotated[
        float,
        typer.Option(
            min=0.1, callback=finite, help="Seconds within which 99 % of the live sentences must be answered."
        ),
    ] = 2,
) -> Report:
    """Find the knee: the highest arrival rate at which users still get their answers in time."""
    plan = capacity_test.Plan(first_rate, seconds, within, common.seed)
    return capacity_test.run(
        plan,
        common.setting,
        common.choice(),
        lambda rate: print(f"trying {rate:.4g} sentences per second", file=sys.stderr),
    )


@profile()
def overload(
    common: Common,
    seconds: Annotated[
        float, typer.Option(min=1, callback=finite, help="Seconds for each of the two measurements.")
    ] = 30,
    excess: Annotated[
        float, typer.Option(min=1, callback=finite, help="Arrival rate as a multiple of the capacity.")
    ] = 3,
) -> Report:
    """Overload: the excess is refused at once, what is admitted is served, and throughput must not drop."""
    plan = overload_test.Plan(seconds=seconds, excess=excess, seed=common.seed)
    with shares() as done:
        return overload_test.run(plan, common.setting, common.choice(), done)


@profile(replicas=2, workers=1, documents=30)
def faults(common: Common, rate: Rate = 20, seconds: Seconds = 150) -> Report:
    """Redis dead, paused, slow, full or not writable, a worker or replica killed, clocks wrong: nothing may be lost."""
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
    """Rolling restart under load: no request may fail."""
    plan = disturbance.Plan(rate, seconds, rounds, common.seed)
    with shares() as done:
        return disturbance.rolling(plan, common.setting, common.choice(), done)
