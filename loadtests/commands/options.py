"""What several commands share: options, and how they begin and end."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from tqdm import tqdm

from loadtests.documents import Documents, from_corpus, made_up
from loadtests.page import write
from loadtests.processes import ROOT
from loadtests.report import Report
from loadtests.stage import Setting

SHIPPED: Final = ROOT / "models" / "pretrained" / "ja-en"
SAMPLE: Final = ROOT / "service" / "samples" / "ja.txt"

Bundle = Annotated[Path, typer.Option(metavar="DIR", help="Folder of a bundle.")]
ReportFolder = Annotated[Path | None, typer.Option("--report", metavar="DIR", help="Write a page and JSON there.")]
Seed = Annotated[int, typer.Option(help="Of everything that is left to chance.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes of each replica.")]
Source = Annotated[Path, typer.Option(metavar="F", help="Sentences, one on each line.")]
Corpus = Annotated[
    Path | None, typer.Option("--corpus", metavar="F", help="Documents, a sentence a line; made up without it.")
]
Count = Annotated[int, typer.Option("--documents", min=1, help="That users choose from.")]
Replicas = Annotated[int, typer.Option(min=1, help="Service processes.")]
StandIn = Annotated[
    float | None, typer.Option("--stand-in-ms", min=0, help="A stand-in for the model, and its time for a sentence.")
]
Rate = Annotated[float, typer.Option(min=0.1, help="Sentences a second that users bring.")]
Seconds = Annotated[float, typer.Option(min=1, help="That users keep coming.")]


def setting(bundle: Path, replicas: int, workers: int, stand_in_ms: float | None) -> Setting:
    """What a profile puts under load."""
    return Setting(bundle, replicas, workers, None if stand_in_ms is None else stand_in_ms / 1000)


def documents_of(corpus: Path | None, count: int, seed: int) -> Documents:
    """Documents of a corpus, or made up without one.

    Raises:
        DataError: it cannot be read.
    """
    rng = random.Random(seed)  # noqa: S311 - to be the same again, not to be secret
    return made_up(rng, count) if corpus is None else from_corpus(rng, corpus, count)


def sentences_of(source: Path) -> Sequence[str]:
    """The lines of a file.

    Raises:
        OSError: it cannot be read.
    """
    return [line for line in source.read_text(encoding="utf-8").splitlines() if line]


@contextmanager
def shares() -> Iterator[Callable[[float], object]]:
    """A progress bar, to be told which part of the work is done."""
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}", disable=None) as bar:
        yield lambda part: bar.update(min(100.0, 100 * part) - bar.n)


def end(found: Report, folder: Path | None) -> None:
    """Show a report, write it, and end with its verdict.

    Raises:
        OSError: it cannot be written.
        typer.Exit: something does not hold.
    """
    found.show(Console())
    if folder is not None:
        write(found, folder)
    if not found.holds:
        raise typer.Exit(1)
