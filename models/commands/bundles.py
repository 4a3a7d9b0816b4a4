"""Bundles: made of checkpoints, used on whole files."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import FiniteFloat, TypeAdapter, ValidationError

from models.commands.bulk import Decoding, PartSentences, Ray, Workers, translate_on_cluster
from models.commands.context import SearchSettings, replacement_of, translator_of
from models.commands.files import readable, writable
from models.commands.options import (
    Alpha,
    Beam,
    Bundle,
    ComputeType,
    Config,
    Device,
    How,
    Kind,
    Patience,
    Seed,
    Threads,
    or_standard,
    writable_or_standard,
)
from models.config import load_config
from models.data.documents import read_documents
from models.text.glossary import Glossary, read_terms
from models.text.memory import NO_MEMORY, TranslationMemory
from models.text.memory_files import read_memory


def export(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new bundle.", show_default=False)],
    quantization: Annotated[
        Literal["int8", "float16", "float32"], typer.Option(help="Type in which weights are stored.")
    ] = "int8",
    source: Annotated[
        Path | None, typer.Option(metavar="F", help="Source documents for the check, instead of the dev set.")
    ] = None,
    reference: Annotated[Path | None, typer.Option(metavar="F", help="Their translations.")] = None,
    scores: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON file with scores for the manifest.")] = None,
    alpha: Alpha = None,
    patience: Patience = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Maximum context sentences, for a Doc-Transformer. Default: as in training."
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
    choices = Choices(alpha, patience, sentences)
    manifest = export_bundle(
        checkpoint, out, quantization, documents=documents, scores=figures, choices=choices, sentence=sentence
    )
    typer.echo(f"{out}: {manifest.name}, {len(manifest.files)} files, format {manifest.format_version}")


def _figures(file: Path) -> dict[str, float]:
    """Read the scores on test sets for the manifest; errors show before the checkpoint is converted."""
    try:
        return TypeAdapter(dict[str, FiniteFloat]).validate_json(file.read_bytes())
    except ValidationError:
        raise typer.BadParameter(f"{file}: is not a JSON object of names and numbers") from None


def unpack(bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", show_default=False)], config: Config) -> None:
    """Turn a bundle into a run's final checkpoint, to train further; if the run has no context, only the backbone."""
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
        Path | None,
        typer.Option(
            metavar="F", help="Draft translations, line for line; empty where there is none. Searches with a beam of 1."
        ),
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            metavar="F", help="Terms to use in translations: one per line, source and target separated by a tab."
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="Sentences with known translations, which are used as they are: TMX, or lines as in --glossary.",
        ),
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
                "--drafts needs --strategy verify, which is then the default, and does not work with --ray"
            )
        strategy = "verify"
    if source is not None and out is not None and out.exists() and out.samefile(source):
        raise typer.BadParameter("--in and --out are the same file, which would be overwritten")
    terms = () if glossary is None else read_terms(glossary)
    if ray is not None:
        how = Decoding(context, beam, device, compute_type, threads, strategy, terms, memory)
        translate_on_cluster(bundle, source, out, how, ray, workers, part)
        return
    if workers is not None or part is not None:
        raise typer.BadParameter("--workers and --part need --ray")
    from tqdm import tqdm

    from models.engine.corpus import require_translatable, translate_file
    from models.engine.runtime import Runtime
    from models.evaluation.document_translation import Piecewise

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    known = NO_MEMORY if memory is None else TranslationMemory(read_memory(memory, runtime.manifest.languages))
    translator = translator_of(runtime, context, SearchSettings(beam), strategy, glossary=Glossary(terms), memory=known)
    replacement = replacement_of(runtime, context, seed)
    with readable(source) as file, writable(out) as stream, tqdm(unit="sentence") as bar:
        require_translatable(runtime, file, known)
        piecewise = Piecewise(translator, bar.update)
        lines = translate_file(piecewise, file, runtime.manifest.window, replacement=replacement, drafts=drafts)
        stream.writelines(line + "\n" for line in lines)
