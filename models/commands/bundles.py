"""Bundles: made of checkpoints, used on whole files."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Literal, TextIO

import typer
from pydantic import FiniteFloat, TypeAdapter, ValidationError

from models.commands.bulk import Decoding, PartSentences, Ray, Workers, translate_on_cluster
from models.commands.context import replacement_of, translator_of
from models.commands.options import (
    Alpha,
    Beam,
    Bundle,
    ComputeType,
    Config,
    Device,
    How,
    Kind,
    Seed,
    Threads,
    or_standard,
    writable_or_standard,
)
from models.config import load_config
from models.data.documents import read_documents
from models.data.whole import PARTIAL, abandoned, beside
from models.errors import DataError


def export(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new bundle.", show_default=False)],
    quantization: Annotated[
        Literal["int8", "float16", "float32"], typer.Option(help="Type of the weights of the CTranslate2 backbone.")
    ] = "int8",
    source: Annotated[
        Path | None, typer.Option(metavar="F", help="Source documents to check on instead of the dev set.")
    ] = None,
    reference: Annotated[Path | None, typer.Option(metavar="F", help="Their translations.")] = None,
    scores: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON with scores for the manifest.")] = None,
    alpha: Alpha = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Most context sentences, for a Doc-Transformer. Default: as in training."
        ),
    ] = None,
    sentence: Annotated[
        Path | None,
        typer.Option(
            metavar="CHECKPOINT", help="Use its backbone to translate without context, instead of step one's."
        ),
    ] = None,
) -> None:
    """Turn a checkpoint into a bundle. It is only written if it translates as the checkpoint does."""
    from models.export.choices import Choices
    from models.export.export import export_bundle

    if (source is None) != (reference is None):
        raise typer.BadParameter("--source and --reference go together")
    documents = None if source is None else read_documents(source, reference)
    figures = None if scores is None else _figures(scores)
    choices = Choices(alpha, sentences)
    manifest = export_bundle(
        checkpoint, out, quantization, documents=documents, scores=figures, choices=choices, sentence=sentence
    )
    typer.echo(f"{out}: {manifest.name}, {len(manifest.files)} files, format {manifest.format_version}")


def _figures(file: Path) -> dict[str, float]:
    """What the manifest is to say of test sets, found wrong before the checkpoint is converted."""
    try:
        return TypeAdapter(dict[str, FiniteFloat]).validate_json(file.read_bytes())
    except ValidationError:
        raise typer.BadParameter(f"{file}: is not a JSON object of names and numbers") from None


def unpack(bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", show_default=False)], config: Config) -> None:
    """Turn a bundle into a run's final checkpoint, to train on; if the run has no context, only the backbone."""
    from models.export.unpacking import unpack_bundle

    run = load_config(config)
    final = unpack_bundle(bundle, run)
    typer.echo(f"checkpoint: {final}, tokenizer: {run.tokenizer.path}")


def translate(
    bundle: Bundle,
    source: Annotated[
        Path | None,
        typer.Option(
            "--in", metavar="F", help="Documents to translate. Default: standard input.", callback=or_standard
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="F", help="Translations. Default: standard output.", callback=writable_or_standard
        ),
    ] = None,
    context: Kind = "real",
    seed: Seed = 1,
    strategy: How = None,
    drafts: Annotated[
        Path | None, typer.Option(metavar="F", help="Draft translations, line for line; empty where there is none.")
    ] = None,
    beam: Beam = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    ray: Ray = None,
    workers: Workers = None,
    part: PartSentences = None,
) -> None:
    """Translate documents: one sentence per line, an empty line between documents. The output has the same lines."""
    if drafts is not None:
        if strategy not in (None, "verify") or ray is not None:
            raise typer.BadParameter(
                "--drafts goes with --strategy verify, which is then the default, and not with --ray"
            )
        strategy = "verify"
    if ray is not None:
        how = Decoding(context, beam, device, compute_type, threads, strategy)
        translate_on_cluster(bundle, source, out, how, ray, workers, part)
        return
    if workers is not None or part is not None:
        raise typer.BadParameter("--workers and --part go with --ray")
    from tqdm import tqdm

    from models.engine.corpus import require_translatable, translate_file
    from models.engine.runtime import Runtime
    from models.evaluation.document_translation import Piecewise

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    translator = translator_of(runtime, context, beam, strategy)
    replacement = replacement_of(runtime, context, seed)
    with _readable(source) as file, _writable(out) as stream, tqdm(unit="sentence") as bar:
        require_translatable(runtime, file)
        piecewise = Piecewise(translator, bar.update)
        lines = translate_file(piecewise, file, runtime.manifest.window, replacement=replacement, drafts=drafts)
        stream.writelines(line + "\n" for line in lines)


@contextmanager
def _readable(file: Path | None) -> Iterator[Path]:
    """The file; or the standard input, or a pipe, as a file, since a corpus is read more than once.

    What is wrong with it is told by the name that the user knows.
    """
    if file is not None and (file.is_file() or not file.exists()):
        yield file
        return
    with tempfile.NamedTemporaryFile() as spool:
        with nullcontext(sys.stdin.buffer) if file is None else file.open("rb") as stream:
            shutil.copyfileobj(stream, spool)
        spool.flush()
        try:
            yield Path(spool.name)
        except DataError as error:
            raise DataError(str(error).replace(spool.name, str(file or "standard input"))) from None


@contextmanager
def _writable(file: Path | None) -> Iterator[TextIO]:
    """The standard output, or a file that appears when it is whole: what it replaces may be what is being read.

    A link stays, and what it names is replaced; unless that is the standard output, as `/dev/stdout` is. Until then it
    has a name of this process's own: another one may be writing the same file.
    """
    if file is None or _is_standard_output(file):
        if isinstance(sys.stdout, TextIOWrapper):  # as files are, whatever the locale says
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
    elif file.exists() and not file.is_file():  # a pipe is nothing to replace
        with file.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
    else:
        file = file.resolve()
        for left in abandoned(file):
            left.unlink(missing_ok=True)
        partial = beside(file)
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as stream:
                yield stream
        except BaseException:
            _leave(partial, file.with_name(f"{file.name}{PARTIAL}"))
            raise
        partial.replace(file)


def _is_standard_output(file: Path) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # it is not there yet, or there is no standard output
        return False


def _leave(partial: Path, place: Path) -> None:
    """Put that which had been translated where it is found, and say so."""
    if partial.exists() and partial.stat().st_size:
        partial.replace(place)
        typer.echo(f"{place}: contains what had been translated", err=True)
    else:
        partial.unlink(missing_ok=True)
