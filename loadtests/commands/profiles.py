"""The commands that let all kinds of user come."""

import sys
from typing import Annotated

import typer

from loadtests import capacity as capacity_test
from loadtests import disturbance, endurance
from loadtests import overload as overload_test
from loadtests.commands.options import (
    SHIPPED,
    Bundle,
    Corpus,
    Count,
    Rate,
    Replicas,
    ReportFolder,
    Seconds,
    Seed,
    StandIn,
    Workers,
    documents_of,
    end,
    setting,
    shares,
)


def smoke(
    rate: Rate = 10,
    seconds: Seconds = 30,
    replicas: Replicas = 1,
    workers: Workers = 2,
    stand_in_ms: StandIn = None,
    documents: Count = 10,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Half a minute of all kinds of user: everybody is served as must be."""
    plan = endurance.Plan(rate, seconds, seed=seed)
    with shares() as done:
        found = endurance.smoke(
            plan, setting(bundle, replicas, workers, stand_in_ms), documents_of(corpus, documents, seed), done
        )
    end(found, report)


def soak(
    rate: Rate = 30,
    minutes: Annotated[float, typer.Option(min=0.5, help="That users keep coming.")] = 60,
    replicas: Replicas = 1,
    workers: Workers = 2,
    stand_in_ms: StandIn = None,
    documents: Count = 60,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Load that the service can bear, for long: neither memory nor file descriptors grow."""
    plan = endurance.Plan(rate, 60 * minutes, sample_seconds=5, seed=seed)
    with shares() as done:
        found = endurance.soak(
            plan, setting(bundle, replicas, workers, stand_in_ms), documents_of(corpus, documents, seed), done
        )
    end(found, report)


def capacity(
    first_rate: Annotated[float, typer.Option(min=0.1, help="Sentences a second that are tried first.")] = 20,
    seconds: Annotated[float, typer.Option(min=1, help="Of each rate.")] = 30,
    within: Annotated[float, typer.Option(min=0.1, help="Seconds for 99 % of the spoken sentences.")] = 2,
    replicas: Replicas = 1,
    workers: Workers = 2,
    stand_in_ms: StandIn = None,
    documents: Count = 60,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """The knee: the highest rate of arrivals at which users still get their answers in time."""
    plan = capacity_test.Plan(first_rate, seconds, within, seed)
    found = capacity_test.run(
        plan,
        setting(bundle, replicas, workers, stand_in_ms),
        documents_of(corpus, documents, seed),
        lambda rate: print(f"trying {rate:.1f} sentences a second", file=sys.stderr),
    )
    end(found, report)


def overload(
    seconds: Annotated[float, typer.Option(min=1, help="Of each of the two measurements.")] = 30,
    excess: Annotated[float, typer.Option(min=1, help="Arrivals as a multiple of the capacity.")] = 3,
    workers: Workers = 2,
    stand_in_ms: StandIn = None,
    documents: Count = 60,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Three times the capacity: the excess is refused at once, what is admitted is served, and throughput stays."""
    plan = overload_test.Plan(seconds=seconds, excess=excess, seed=seed)
    with shares() as done:
        found = overload_test.run(
            plan, setting(bundle, 1, workers, stand_in_ms), documents_of(corpus, documents, seed), done
        )
    end(found, report)


def faults(
    rate: Rate = 20,
    seconds: Seconds = 150,
    replicas: Replicas = 2,
    workers: Workers = 1,
    stand_in_ms: StandIn = None,
    documents: Count = 30,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Redis killed, paused, slow, full, unable to write; a worker, a replica killed; clocks wrong: nothing is lost."""
    plan = disturbance.Plan(rate, seconds, seed=seed)
    with shares() as done:
        found = disturbance.faults(
            plan, setting(bundle, replicas, workers, stand_in_ms), documents_of(corpus, documents, seed), done
        )
    end(found, report)


def rolling(
    rate: Rate = 20,
    seconds: Seconds = 120,
    rounds: Annotated[int, typer.Option(min=1, help="How often each replica is restarted.")] = 2,
    replicas: Replicas = 3,
    workers: Workers = 1,
    stand_in_ms: StandIn = None,
    documents: Count = 30,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Rolling restart under load: no request fails."""
    plan = disturbance.Plan(rate, seconds, rounds, seed)
    with shares() as done:
        found = disturbance.rolling(
            plan, setting(bundle, replicas, workers, stand_in_ms), documents_of(corpus, documents, seed), done
        )
    end(found, report)
