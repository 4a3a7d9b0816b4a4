"""The command line: `python -m loadtests COMMAND --help` explains each command. Wiring only.

Exit status: 0, 1 if something does not hold that must, 2 for bad usage or where a load test cannot be run, with one
clear line on standard error.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from tqdm import tqdm

from loadtests import fuzz as fuzz_test
from loadtests import order as order_test
from loadtests import overload as overload_test
from loadtests import rolling as rolling_test
from loadtests import throughput as throughput_test
from loadtests.processes import ROOT
from loadtests.report import Report
from models.errors import AntecedentError

_SHIPPED = ROOT / "models" / "pretrained" / "ja-en"
_SAMPLE = ROOT / "service" / "samples" / "ja.txt"

app = typer.Typer(
    help="Put load and faults on a service that is started for it, and see what must hold.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

Bundle = Annotated[Path, typer.Option(metavar="DIR", help="Folder of a bundle.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures there.")]
Seed = Annotated[int, typer.Option(help="Of everything that is left to chance.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes.")]
Source = Annotated[Path, typer.Option(metavar="F", help="Sentences, one on each line.")]
Replicas = Annotated[int, typer.Option(min=1, help="Service processes.")]


@app.command()
def order(
    sessions: Annotated[int, typer.Option(min=1, help="At the same time.")] = 200,
    sentences: Annotated[int, typer.Option(min=1, help="Of each session.")] = 50,
    replicas: Replicas = 2,
    redis_kills: Annotated[int, typer.Option(min=0, help="Redis is killed and started again so often.")] = 3,
    replica_kills: Annotated[int, typer.Option(min=0, help="A replica is killed and started again so often.")] = 2,
    target_context: Annotated[bool, typer.Option("--target-context", help="The model reads translations too.")] = False,
    seed: Seed = 1,
    bundle: Bundle = _SHIPPED,
    json_file: JsonFile = None,
) -> None:
    """Order, loss, duplication, isolation: sessions of clients that misbehave, while Redis and replicas are killed."""
    plan = order_test.Plan(sessions, sentences, replicas, redis_kills, replica_kills, target_context, seed)
    with tqdm(total=sessions * sentences, unit=" sentences", disable=None) as bar:
        report = order_test.run(plan, bundle, bar.update)
    _end(report, json_file)


@app.command()
def overload(
    seconds: Annotated[float, typer.Option(min=1, help="Of each of the two measurements.")] = 20,
    excess: Annotated[float, typer.Option(min=1, help="Arrivals as a multiple of the capacity.")] = 3,
    real: Annotated[bool, typer.Option("--real", help="The bundle itself instead of a stand-in for it.")] = False,
    service_ms: Annotated[float, typer.Option(min=0, help="That the stand-in takes for a sentence.")] = 20,
    workers: Workers = 2,
    seed: Seed = 1,
    bundle: Bundle = _SHIPPED,
    source: Source = _SAMPLE,
    json_file: JsonFile = None,
) -> None:
    """Overload: the excess is refused at once, what is admitted is served, and throughput stays."""
    plan = overload_test.Plan(
        seconds=seconds, excess=excess, workers=workers, service_seconds=None if real else service_ms / 1000, seed=seed
    )
    _end(overload_test.run(plan, bundle, _sentences(source)), json_file)


@app.command()
def rolling(
    replicas: Replicas = 3,
    rounds: Annotated[int, typer.Option(min=1, help="How often each replica is restarted.")] = 2,
    clients: Annotated[int, typer.Option(min=1, help="Of each kind: documents, sessions, streams.")] = 8,
    seed: Seed = 1,
    bundle: Bundle = _SHIPPED,
    source: Source = _SAMPLE,
    json_file: JsonFile = None,
) -> None:
    """Rolling restart under load: no request fails."""
    plan = rolling_test.Plan(replicas=replicas, rounds=rounds, clients=clients, seed=seed)
    with tqdm(total=replicas * rounds, unit=" restarts", disable=None) as bar:
        report = rolling_test.run(plan, bundle, _sentences(source), bar.update)
    _end(report, json_file)


@app.command()
def throughput(
    rounds: Annotated[int, typer.Option(min=1, help="That are counted; one more comes before them.")] = 5,
    documents: Annotated[int, typer.Option(min=1, help="Of each round, at the same time.")] = 8,
    sentences: Annotated[int, typer.Option(min=1, help="Of each document.")] = 40,
    single: Annotated[int, typer.Option(min=3, help="Sentences one at a time, for the time that HTTP adds.")] = 100,
    workers: Workers = 2,
    seed: Seed = 1,
    bundle: Bundle = _SHIPPED,
    source: Source = _SAMPLE,
    json_file: JsonFile = None,
) -> None:
    """Sentences per second over HTTP and time of a sentence, against the runtime called directly in the same run."""
    plan = throughput_test.Plan(rounds, documents, sentences, single, workers, seed=seed)
    with tqdm(total=rounds + 1 + single, unit=" steps", disable=None) as bar:
        report = throughput_test.run(plan, bundle, _sentences(source), bar.update)
    _end(report, json_file)


@app.command()
def fuzz(
    cases: Annotated[
        int, typer.Option(min=1, help="Drawn at random for each operation, beside the systematic ones.")
    ] = 1000,
    seed: Seed = 1,
    bundle: Bundle = _SHIPPED,
    json_file: JsonFile = None,
) -> None:
    """The HTTP interface under made-up requests: no 5xx, and no answer outside the OpenAPI document."""
    _end(fuzz_test.run(fuzz_test.Plan(cases, seed), bundle), json_file)


def _sentences(source: Path) -> Sequence[str]:
    return [line for line in source.read_text(encoding="utf-8").splitlines() if line]


def _end(report: Report, json_file: Path | None) -> None:
    report.show(Console())
    if json_file is not None:
        report.write(json_file)
    if not report.holds:
        raise typer.Exit(1)


def main() -> int:
    """Run a command; returns the exit status."""
    try:
        app(prog_name="python -m loadtests")
    except (AntecedentError, OSError) as error:
        print(f"loadtests: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
