"""The commands that look at one thing: order, the cost of HTTP, what a deployment takes, the OpenAPI document."""

from typing import Annotated

import typer
from tqdm import tqdm

from loadtests.commands.options import (
    SHIPPED,
    Bundle,
    Corpus,
    Count,
    Replicas,
    ReportFolder,
    Seed,
    Source,
    Workers,
    documents_of,
    end,
    sentences_of,
    shares,
)
from loadtests.profiles import fuzz as fuzz_test
from loadtests.profiles import order as order_test
from loadtests.profiles import sizing as sizing_test
from loadtests.profiles import throughput as throughput_test
from loadtests.profiles.direct import Budget
from loadtests.stage.stage import Setting
from models.commands.options import finite


def order(
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions at the same time.")] = 200,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences per session.")] = 50,
    replicas: Replicas = 2,
    redis_kills: Annotated[int, typer.Option(min=0, help="How often Redis is killed and restarted.")] = 3,
    replica_kills: Annotated[int, typer.Option(min=0, help="How often a replica is killed and restarted.")] = 2,
    target_context: Annotated[
        bool, typer.Option("--target-context", help="Use a model that also reads translations.")
    ] = False,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Check order, loss, duplication and isolation in sessions of misbehaving clients, while Redis and replicas die."""
    plan = order_test.Plan(sessions, sentences, replicas, redis_kills, replica_kills, target_context, seed=seed)
    with shares() as done:
        found = order_test.run(plan, bundle, done)
    end(found, report)


def throughput(
    rounds: Annotated[int, typer.Option(min=1, help="Rounds to measure.")] = 5,
    uncounted: Annotated[
        int,
        typer.Option(min=1, help="Warm-up rounds before those; a GPU needs some dozens, to capture recurring shapes."),
    ] = 1,
    documents: Annotated[int, typer.Option(min=1, help="Documents per round, all at the same time.")] = 8,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences per document.")] = 40,
    single: Annotated[int, typer.Option(min=3, help="Single sentences, to measure the time that HTTP adds.")] = 100,
    workers: Workers = 2,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda or cuda:N.")] = "cpu",
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    source: Source = None,
    report: ReportFolder = None,
) -> None:
    """Measure throughput and latency over HTTP, against the runtime called directly in the same run."""
    budget = Budget.on(device)
    plan = throughput_test.Plan(rounds, documents, sentences, single, workers, device, budget, seed, uncounted)
    chosen = sentences_of(source, bundle)
    with tqdm(total=uncounted + rounds + single, unit=" steps", disable=None) as bar:
        found = throughput_test.run(plan, bundle, chosen, bar.update)
    end(found, report)


def sizing(
    seconds: Annotated[
        float, typer.Option(min=1, callback=finite, help="Seconds for each of the two measurements of speed.")
    ] = 30,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions, to measure their memory in Redis.")] = 200,
    streams: Annotated[int, typer.Option(min=1, help="Streams, to measure their memory in the HTTP process.")] = 300,
    documents: Count = 60,
    corpus: Corpus = None,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Measure figures for planning a deployment: speed of a worker, memory of processes, size of a session in Redis."""
    plan = sizing_test.Plan(seconds, sessions, streams=streams, seed=seed)
    chosen = documents_of(corpus, documents, seed, bundle)
    with shares() as done:
        found = sizing_test.run(plan, Setting(bundle, 1, 1, None), chosen, done)
    end(found, report)


def fuzz(
    cases: Annotated[int, typer.Option(min=1, help="Random cases per operation, besides the systematic ones.")] = 1000,
    seed: Seed = 1,
    bundle: Bundle = SHIPPED,
    report: ReportFolder = None,
) -> None:
    """Send generated requests to the HTTP interface: no answer may be a 5xx, or differ from the OpenAPI document."""
    end(fuzz_test.run(fuzz_test.Plan(cases, seed), bundle), report)
