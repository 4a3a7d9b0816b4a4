"""How fast models translate."""

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from models.commands.options import ComputeType, Device, JsonFile, finite, with_folder
from models.commands.output import print_table, write_json
from models.commands.streams import outliving_readers
from models.data.documents import Document, read_documents

if TYPE_CHECKING:
    from models.benchmark.interleaved import Conditions, Row


class Fixed(StrEnum):
    """An architecture that can be measured without data; that of BERT with BERT-base, and with a small one."""

    DOC_TRANSFORMER = "doc_transformer"
    CONCATENATION = "concatenation"
    AVERAGED_DOCUMENT = "averaged_document"
    LAYER_WEIGHTING = "layer_weighting"
    GLOBAL_LOCAL = "global_local"
    BERT_CONTEXT = "bert_context"
    MINILM_CONTEXT = "minilm_context"


HEAD: Final = ("strategy", "beam", "batch", "ms", "tokens/s", "from", "to", "ratio", "to plain")


def bench(
    bundle: Annotated[Path | None, typer.Argument(metavar="BUNDLE", help="Folder of a bundle.")] = None,
    source: Annotated[Path | None, typer.Option("--in", metavar="F", help="Documents to translate.")] = None,
    reference: Annotated[
        Path | None, typer.Option(metavar="F", help="Their translations, for models that read preceding translations.")
    ] = None,
    fixed: Annotated[
        list[Fixed] | None,
        typer.Option(help="Instead of BUNDLE: 6 + 6 layers of width 512 with random weights; can be repeated."),
    ] = None,
    device: Device = "cpu",
    beam: Annotated[
        list[int] | None, typer.Option(min=1, help="Number of hypotheses that the search keeps; can be repeated.")
    ] = None,
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Sentences per call; can be repeated.")] = None,
    compute_type: ComputeType = "auto",
    threads: Annotated[int, typer.Option(min=1, help="Parallel lanes, each with one thread.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Number of rounds; their median is reported.")] = 5,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Leave out rounds that would not end within this time, for each model.", min=0, callback=finite
        ),
    ] = None,
    json_file: JsonFile = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw a picture: FILE.png and FILE.svg.", callback=with_folder),
    ] = None,
) -> None:
    """Measure tokens per second with context, against CTranslate2 without it and against a plain implementation."""
    from models.benchmark.fixed import TOKENS
    from models.benchmark.interleaved import Conditions
    from models.engine.computation import resolve_compute_type

    if (bundle is None) == (not fixed) or (bundle is None) != (source is None):
        raise typer.BadParameter("give either a BUNDLE with --in, or --fixed")
    if source is None and reference is not None:
        raise typer.BadParameter("--reference needs --in")
    conditions = Conditions(
        device,
        resolve_compute_type(compute_type, device),
        threads,
        beam or [1],
        batch or [1, 8, 32, 128],
        rounds,
        math.inf if minutes is None else 60 * minutes,
        TOKENS if fixed else None,
    )
    if bundle is not None and source is not None:
        rows = _measure(bundle, read_documents(source, reference), conditions)
    else:
        rows = [row for kind in fixed or () for row in _measure_fixed(kind, conditions)]
    with outliving_readers():  # a reader that has seen enough still wants the files
        _show(rows)
    write_json({"rows": [asdict(row) for row in rows]}, json_file)
    if plot is not None:
        _draw(rows, plot)


def _show(rows: "Sequence[Row]") -> None:
    """Print a table for each architecture."""
    for architecture, group in groupby(rows, key=lambda row: row.architecture):
        of_it = list(group)
        one = of_it[0]
        typer.echo(f"{architecture}, {one.compute_type}, {one.device}, lanes: {one.lanes}, rounds: {one.rounds}")
        print_table(HEAD, [_cells(row) for row in of_it])


def _cells(row: "Row") -> tuple[object, ...]:
    speeds = (f"{speed:.0f}" for speed in (row.tokens_per_second, row.slowest, row.fastest))
    plain = "" if row.plain_ratio is None else f"{row.plain_ratio:.2f}"
    return row.strategy, row.beam, row.batch, f"{row.milliseconds:.1f}", *speeds, f"{row.ratio:.2f}", plain


def _measure(bundle: Path, documents: Sequence[Document], conditions: "Conditions") -> "list[Row]":
    from tqdm import tqdm

    from models.benchmark.interleaved import benchmark
    from models.benchmark.lane import Place
    from models.benchmark.lanes import Lanes

    where = Place(bundle, conditions.device, conditions.compute_type)

    def shown(rounds: Sequence[int]) -> Iterator[int]:
        return iter(tqdm(rounds, unit="round"))

    with Lanes(where, conditions.lanes) as lanes:
        return benchmark(where.load(), documents, conditions, lanes, progress=shown)


def _measure_fixed(kind: str, conditions: "Conditions") -> "list[Row]":
    from models.benchmark.fixed import fixed_documents, write_fixed

    sentences = (conditions.rounds + 1) * conditions.lanes * max(conditions.batches)
    with tempfile.TemporaryDirectory() as folder:
        write_fixed(Path(folder) / kind, kind)
        rows = _measure(Path(folder) / kind, fixed_documents(sentences), conditions)
        return [replace(row, architecture=kind) for row in rows]


def _draw(rows: "Sequence[Row]", file: Path) -> None:
    from models.plotting.speeds import draw_speeds
    from models.plotting.style import save, styled

    # Strip only the suffix of a picture: `bench.2` must not become `bench`, which may be another file.
    name = file.stem if file.suffix in {".png", ".svg"} else file.name
    with styled():
        save(draw_speeds(rows), file.parent, name)
