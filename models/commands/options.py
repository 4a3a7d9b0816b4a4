"""Arguments and options that several commands have."""

import math
import re
from pathlib import Path
from typing import Annotated

import typer

from models.data.replacement import ContextKind
from models.data.whole import check_writable
from models.engine.requests import Strategy


def with_folder(file: Path | None) -> Path | None:
    """See to it that a file can be written, before the work of which it is to hold the result."""
    if file is not None:
        if file == Path("-"):
            raise typer.BadParameter("- is not a file: standard output is already used for the report")
        if file.is_dir():
            raise typer.BadParameter(f"{file} is a folder, but must be a file")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            check_writable(file)
        except OSError as error:
            raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from None
    return file


def require_own_files(out: Path | None, json_file: Path | None, *read: Path) -> None:
    """Refuse one file for the results and for the figures of them, or for what is read: one would replace the other."""
    if out is not None and json_file is not None and out.resolve() == json_file.resolve() and not _is_stream(out):
        raise typer.BadParameter(f"{out} cannot be both --out and --json")
    for option, file in {"--out": out, "--json": json_file}.items():
        if file is not None and file.is_file() and any(each.exists() and each.samefile(file) for each in read):
            raise typer.BadParameter(f"{option} names {file}, which is an input and would be overwritten")


def _is_stream(file: Path) -> bool:
    """Return whether writing to it appends rather than replaces, as with a pipe."""
    return file.exists() and not file.is_file()


def or_standard(file: Path | None) -> Path | None:
    """A file, or None for `-`, which is the standard input or output as it is elsewhere."""
    return None if file == Path("-") else file


def writable_or_standard(file: Path | None) -> Path | None:
    """A file that can be written, or None for `-`."""
    return with_folder(or_standard(file))


def finite(number: float | None) -> float | None:
    """A number that can be computed with: `nan` and `inf` are on no side of any bound that they should be on."""
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter(f"{number} is not a finite number")
    return number


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression; report what is wrong with it as a bad parameter."""
    try:
        return re.compile(text)
    except re.error as error:
        raise typer.BadParameter(f"{text} is not a regular expression: {error}") from None


Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of a run.", show_default=False)]
Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder of a bundle or checkpoint.", show_default=False)]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be used, and report them.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to this file.", callback=with_folder)
]
TranslationsFile = Annotated[
    Path | None, typer.Option("--out", metavar="F", help="Write the translations to this file.", callback=with_folder)
]
OutcomesFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="F", help="Write the outcome of each item to this file.", callback=with_folder),
]
GainsFile = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="F", help="Write each sentence's gain to this file, one per line.", callback=with_folder
    ),
]
Beam = Annotated[
    int | None,
    typer.Option(min=1, help="Number of hypotheses that the search keeps. Default: the model's own setting."),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=10,
        metavar="A",
        help="How much the search prefers longer translations. Default: the model's own setting.",
        callback=finite,
    ),
]
Patience = Annotated[
    float | None,
    typer.Option(
        min=1,
        max=10,
        metavar="P",
        help="A beam search ends once it has P x beam translations. Default: the model's own setting.",
        callback=finite,
    ),
]
How = Annotated[
    Strategy | None,
    typer.Option("--strategy", help="How to translate. Default: direct, or sentence with --context none."),
]
Kind = Annotated[ContextKind, typer.Option("--context", help="What the model is given as context.")]
Seed = Annotated[int, typer.Option(help="Seed for random, fixed or shuffled context.")]
Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda or cuda:N.")]
ComputeType = Annotated[str, typer.Option(help="Type to compute in: auto, float32, bfloat16 or int8.")]
Only = Annotated[
    re.Pattern[str] | None,
    typer.Option(metavar="REGEX", parser=_pattern, help="Only sentences whose translation matches this."),
]
Sentences = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Maximum context sentences on each side; for blocks, N + 1 sentences. Default: as the model reads.",
    ),
]
Threads = Annotated[int, typer.Option(min=1, help="Number of CPU threads to compute with.")]
