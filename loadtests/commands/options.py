"""What several commands share: options, and how they begin and end."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

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


@dataclass(frozen=True, slots=True)
class Common:
    """What every profile can be told beside its own options: how many of what are put under load, and by what."""

    replicas: Replicas = 1
    workers: Workers = 2
    stand_in_ms: StandIn = None
    documents: Count = 60
    corpus: Corpus = None
    seed: Seed = 1
    bundle: Bundle = SHIPPED
    report: ReportFolder = None

    @property
    def setting(self) -> Setting:
        """What is put under load."""
        seconds = None if self.stand_in_ms is None else self.stand_in_ms / 1000
        return Setting(self.bundle, self.replicas, self.workers, seconds)

    def choice(self) -> Documents:
        """The documents that users bring.

        Raises:
            DataError: the corpus cannot be read.
        """
        return documents_of(self.corpus, self.documents, self.seed)


def profile(**defaults: Any) -> Callable[[Callable[..., Report]], Callable[..., None]]:  # noqa: ANN401 - as the options
    """Make a command of a function from `Common`, and options of its own, to a report, which it shows and writes.

    Args:
        **defaults: of `Common`, where this profile has others.
    """
    hints, preset = get_type_hints(Common, include_extras=True), Common(**defaults)
    common = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=getattr(preset, each.name),
            annotation=hints[each.name],
        )
        for each in fields(Common)
    ]

    def make(run: Callable[..., Report]) -> Callable[..., None]:
        _, *own = signature(run).parameters.values()
        options = [*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in own), *common]

        @wraps(run)
        def command(**given: Any) -> None:  # noqa: ANN401 - whatever the options are
            told = Common(**{each.name: given.pop(each.name) for each in common})
            end(run(told, **given), told.report)

        # What Typer makes options of.
        command.__signature__ = Signature(options)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in options}
        return command

    return make


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
