"""What several commands share: options, and how they begin and end."""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Final, get_type_hints

import typer
from rich.console import Console
from tqdm import tqdm

from loadtests.documents import MADE_UP_IN, Documents, from_corpus, made_up
from loadtests.errors import LoadTestError
from loadtests.report.page import write
from loadtests.report.report import Report
from loadtests.stage.processes import ROOT
from loadtests.stage.stage import Setting
from models.bundle.manifest import Manifest
from models.commands.options import finite
from models.data.documents import decode_line, read_lines
from models.errors import DataError

SHIPPED: Final = ROOT / "models" / "pretrained" / "ja-en"
SAMPLE: Final = ROOT / "service" / "samples" / "ja.txt"


def _absolute(folder: Path) -> Path:
    """Name a folder so that it is found from anywhere: the service runs in another folder than the command."""
    return folder.absolute()


Bundle = Annotated[Path, typer.Option(metavar="DIR", help="Folder of a bundle.", callback=_absolute)]


def _writable(folder: Path | None) -> Path | None:
    """Make the folder of a report and try to write in it: the report comes last, and its run must not be in vain."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    return folder


ReportFolder = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="Write the report there, as a page and as JSON.", callback=_writable),
]
Seed = Annotated[int, typer.Option(help="Seed for everything random.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes per replica.")]
Source = Annotated[
    Path | None, typer.Option("--source", metavar="F", help="Sentences, one per line. Default: Japanese ones.")
]
Corpus = Annotated[
    Path | None,
    typer.Option("--corpus", metavar="F", help="Documents, one sentence per line. Default: made up, in Japanese."),
]
Count = Annotated[int, typer.Option("--documents", min=1, help="Number of documents that users choose from.")]
Replicas = Annotated[int, typer.Option(min=1, help="Number of service processes.")]
StandIn = Annotated[
    float | None,
    typer.Option(
        "--stand-in-ms",
        min=0,
        callback=finite,
        help="Replace the model with a stand-in that takes this long per sentence.",
    ),
]
Rate = Annotated[float, typer.Option(min=0.1, callback=finite, help="Sentences per second that users send.")]
Seconds = Annotated[float, typer.Option(min=1, callback=finite, help="How long users keep arriving.")]


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
            DataError, BundleError, LoadTestError: as in `documents_of`.
        """
        return documents_of(self.corpus, self.documents, self.seed, self.bundle)


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


def documents_of(corpus: Path | None, count: int, seed: int, bundle: Path) -> Documents:
    """Documents of a corpus, or made up without one.

    Raises:
        DataError: it cannot be read, or has none.
        BundleError, LoadTestError: the bundle cannot be read, or there is no corpus and it translates no Japanese.
    """
    rng = random.Random(seed)  # noqa: S311 - to be the same again, not to be secret
    if corpus is not None:
        return from_corpus(rng, corpus, count)
    _need_japanese(bundle, "the made-up documents are Japanese: give others with --corpus")
    return made_up(rng, count)


def sentences_of(source: Path | None, bundle: Path) -> Sequence[str]:
    """The lines of a file, or of a Japanese text without one.

    Raises:
        DataError: it cannot be read, or has none.
        BundleError, LoadTestError: the bundle cannot be read, or there is no file and it translates no Japanese.
    """
    if source is None:
        _need_japanese(bundle, "the default sentences are Japanese: give others with --source")
    file = source or SAMPLE
    lines = [decode_line(file, number, line) for number, line in enumerate(read_lines(file), start=1)]
    sentences = [line for line in lines if line]
    if not sentences:
        raise DataError("has no sentence", file)
    return sentences


def _need_japanese(bundle: Path, otherwise: str) -> None:
    language = Manifest.load(bundle).languages.source
    if language != MADE_UP_IN:
        raise LoadTestError(f"{bundle} translates from {language}, but {otherwise}")


@contextmanager
def shares() -> Iterator[Callable[[float], object]]:
    """A progress bar, to be told which part of the work is done."""
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}", disable=None) as bar:
        yield lambda part: bar.update(min(100.0, 100 * part) - bar.n)


def end(found: Report, folder: Path | None) -> None:
    """Show a report, write it, and end with its verdict.

    Raises:
        OSError: it cannot be written, and all holds.
        typer.Exit: something does not hold, whether or not it can be written.
    """
    found.show(Console())
    try:
        if folder is not None:
            write(found, folder)
    except OSError as error:
        if found.holds:
            raise
        print(f"loadtests: {error}", file=sys.stderr)
    if not found.holds:
        raise typer.Exit(1)
