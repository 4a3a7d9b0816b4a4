"""The command line: `python -m models COMMAND --help` explains each command. Wiring only.

Exit status: 0, 1 for a failed check, 2 for bad usage or input, with one clear line on standard error. A command imports
what it needs, so that --help does not wait for torch.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from models.config import RunConfig, load_config
from models.data.documents import read_documents, read_lines
from models.data.replacement import ContextKind, Replacement, Vocabulary
from models.errors import AntecedentError

if TYPE_CHECKING:
    from models.bundle.runtime import Runtime, WindowTranslator
    from models.data.tokenizer import Tokenizer
    from models.network.model import TranslationModel

app = typer.Typer(
    help="Train, evaluate, export and use context-aware translation models. BUNDLE is a bundle or a checkpoint.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of a run.", show_default=False)]
Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder of a bundle or checkpoint.", show_default=False)]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out lines that cannot be used; count and name them.")]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures there.")]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses of search; without it, the model's own.")]
Kind = Annotated[ContextKind, typer.Option("--context", help="What the model is given as context.")]
Seed = Annotated[int, typer.Option(help="Of replaced context.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]
ComputeType = Annotated[str, typer.Option(help="auto, float32 or bfloat16.")]
Threads = Annotated[int, typer.Option(min=1, help="That compute on a CPU.")]


@app.command()
def tokenizer(config: Config, skip_bad: SkipBad = False) -> None:
    """Train the SentencePiece model of a run on its training corpus."""
    from models.training.run import make_tokenizer

    run = load_config(config)
    made = make_tokenizer(run, skip_bad=skip_bad)
    typer.echo(f"{run.tokenizer.path}: {', '.join(made.files())}")


@app.command()
def train(
    config: Config,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the newest checkpoint, if any.")] = False,
    minutes: Annotated[float | None, typer.Option(help="End after so many minutes.", min=0)] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Train one run; `torchrun --nproc-per-node N -m models train CONFIG` trains on N devices."""
    from models.training.run import train as train_run

    final = train_run(load_config(config), _candidate, resume=resume, minutes=minutes, skip_bad=skip_bad)
    typer.echo(f"final checkpoint: {final}")


@app.command()
def describe(
    model: Annotated[Path, typer.Argument(metavar="CONFIG|BUNDLE", show_default=False)], json_file: JsonFile = None
) -> None:
    """Print what a model is made of: parameters by part, trained and frozen in step two."""
    from models.bundle.description import unloaded_model
    from models.network.parameters import count_parameters
    from models.training.run import plan_model

    built = unloaded_model(model) if model.is_dir() else plan_model(load_config(model))
    parts = count_parameters(built)
    rows = [(part.name, f"{part.trained:,}", f"{part.frozen:,}") for part in parts]
    total = ("all", f"{sum(part.trained for part in parts):,}", f"{sum(part.frozen for part in parts):,}")
    _print_table(("part", "trained", "frozen"), [*rows, total])
    _write_json({"parts": [asdict(part) for part in parts]}, json_file)


@app.command()
def evaluate(
    bundle: Bundle,
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    context: Kind = "real",
    seed: Seed = 1,
    beam: Beam = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare text in lower case.")] = False,
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
    out: Annotated[Path | None, typer.Option(metavar="F", help="Write the translations there.")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="F", help="Another system's translations: compare.")] = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Translate documents and score them: BLEU, chrF, document BLEU, and the loss of the references."""
    from models.bundle.runtime import Runtime
    from models.training import evaluation

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    documents, window = read_documents(source, reference), runtime.manifest.window
    translator, replacement = _translator(runtime, context, beam), _replacement(runtime, context, seed)
    options = evaluation.MetricOptions(lowercase, tokenize)
    result = evaluation.evaluate(translator, documents, window, replacement=replacement, options=options)
    count = lambda text: len(runtime.tokenizer.encode_target(text))  # noqa: E731
    loss = evaluation.reference_loss(translator, count, documents, window, replacement=replacement)
    figures: dict[str, Any] = {**asdict(result.scores), "loss": loss, "context": context}
    if out is not None:
        out.write_text("".join(line + "\n" for line in result.translations), encoding="utf-8")
    if baseline is not None:
        references = [sentence.target or "" for document in documents for sentence in document.sentences]
        other = [line.decode("utf-8", errors="replace") for line in read_lines(baseline)]
        compared = evaluation.compare(other, result.translations, references, options=options)
        figures["compared"] = {metric: asdict(comparison) for metric, comparison in compared.items()}
    _report(figures, json_file)


@app.command()
def contrast(
    bundle: Bundle,
    sets: Annotated[
        list[Path], typer.Option("--set", metavar="F", help="Items, Voita's passages or ContraPro.", show_default=False)
    ],
    rule: Annotated[Literal["last", "group"], typer.Option(help="The last sentence, or all but the first.")] = "last",
    context: Kind = "real",
    seed: Seed = 1,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Find how often the right translation is likelier than wrong ones."""
    from models.bundle.runtime import Runtime
    from models.training import contrastive
    from models.training.contrastive_sets import read_contrastive

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    items = [item for path in sets for item in read_contrastive(path)]
    translator, replacement = _translator(runtime, context, None), _replacement(runtime, context, seed)
    count = lambda text: len(runtime.tokenizer.encode_target(text))  # noqa: E731
    window = runtime.manifest.window
    scores = contrastive.contrast(translator, items, window, rule=rule, count_tokens=count, replacement=replacement)
    _report({**asdict(scores), "context": context, "rule": rule}, json_file)


@app.command()
def export(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new bundle.", show_default=False)],
    quantization: Annotated[
        Literal["int8", "float16", "float32"], typer.Option(help="Of the CTranslate2 backbone.")
    ] = "int8",
    source: Annotated[Path | None, typer.Option(metavar="F", help="Check on these instead of the dev set.")] = None,
    reference: Annotated[Path | None, typer.Option(metavar="F", help="Their translations.")] = None,
    scores: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON of figures for the manifest.")] = None,
) -> None:
    """Turn a checkpoint into a bundle; it is written only if it translates as the checkpoint does."""
    from models.bundle.export import export_bundle

    if (source is None) != (reference is None):
        raise typer.BadParameter("--source and --reference go together")
    documents = None if source is None else read_documents(source, reference)
    figures = None if scores is None else json.loads(scores.read_text(encoding="utf-8"))
    manifest = export_bundle(checkpoint, out, quantization, documents=documents, scores=figures)
    typer.echo(f"{out}: {manifest.name}, {len(manifest.files)} files, format {manifest.format_version}")


@app.command()
def translate(
    bundle: Bundle,
    source: Annotated[Path | None, typer.Option("--in", metavar="F", help="Documents; without it, the input.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="F", help="Without it, the output.")] = None,
    context: Kind = "real",
    seed: Seed = 1,
    beam: Beam = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
) -> None:
    """Translate documents: a sentence a line, an empty line between documents, and the same lines out."""
    from tqdm import tqdm

    from models.bundle.corpus import translate_file
    from models.bundle.runtime import Runtime
    from models.training.document_translation import Piecewise

    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    translator, replacement = _translator(runtime, context, beam), _replacement(runtime, context, seed)
    with _readable(source) as file, _writable(out) as stream, tqdm(unit="sentence") as bar:
        piecewise = Piecewise(translator, bar.update)
        lines = translate_file(piecewise, file, runtime.manifest.window, replacement=replacement)
        stream.writelines(line + "\n" for line in lines)


@app.command()
def bench(
    bundle: Bundle,
    source: Annotated[Path, typer.Option("--in", metavar="F", help="Documents to translate.", show_default=False)],
    device: Device = "cpu",
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses of search.")] = 1,
    batch: Annotated[list[int] | None, typer.Option(min=1, help="Sentences in a call; may be repeated.")] = None,
    compute_type: ComputeType = "float32",
    threads: Threads = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Of which the median is taken.")] = 5,
    json_file: JsonFile = None,
) -> None:
    """Measure tokens per second with context against the same backbone without it in CTranslate2."""
    from tqdm import tqdm

    from models.bundle.benchmark import Conditions, benchmark
    from models.bundle.runtime import Runtime

    runtime = Runtime.load(bundle, device=device, compute_type=compute_type, threads=threads)
    rows = benchmark(
        runtime,
        read_documents(source),
        Conditions(device, compute_type, beam, batch or [1, 8, 32], rounds),
        progress=lambda turns: iter(tqdm(turns, total=rounds + 1, unit="round")),
    )
    cells = [(row.strategy, row.batch, f"{row.tokens_per_second:.0f}", f"{row.ratio:.2f}") for row in rows]
    _print_table(("strategy", "batch", "tokens/s", "ratio"), cells)
    _write_json({"rows": [asdict(row) for row in rows]}, json_file)


def _candidate(config: RunConfig, tokenizer: "Tokenizer", model: "TranslationModel") -> "WindowTranslator":
    """A model in training as validation sees it: greedy, with its context."""
    from models.bundle.runtime import Options, Runtime, WindowTranslator

    return WindowTranslator(Runtime.of(config, tokenizer, model), Options(beam_size=1))


def _translator(runtime: "Runtime", context: ContextKind, beam: int | None) -> "WindowTranslator":
    from models.bundle.runtime import Options, WindowTranslator

    return WindowTranslator(runtime, Options(strategy="sentence" if context == "none" else "direct", beam_size=beam))


def _replacement(runtime: "Runtime", context: ContextKind, seed: int) -> Replacement:
    return Replacement(context, seed, Vocabulary.of(runtime.tokenizer) if context == "random" else None)


@contextmanager
def _readable(file: Path | None) -> Iterator[Path]:
    """The file; or the standard input as a file, since a corpus is read more than once."""
    if file is not None:
        yield file
        return
    with tempfile.NamedTemporaryFile() as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool)
        spool.flush()
        yield Path(spool.name)


@contextmanager
def _writable(file: Path | None) -> Iterator[TextIO]:
    """The file, or the standard output."""
    if file is None:
        yield sys.stdout
        return
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        yield stream


def _print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    table = Table(*(Column(name, overflow="fold") for name in head), box=box.SIMPLE)
    for row in rows:
        table.add_row(*map(str, row))
    Console().print(table)


def _report(figures: dict[str, Any], json_file: Path | None) -> None:
    _print_table(("figure", "value"), [(name, _rounded(value)) for name, value in figures.items()])
    _write_json(figures, json_file)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_rounded(one)}" for name, one in value.items())
    return f"{value:.4g}" if isinstance(value, float) else value


def _write_json(figures: dict[str, Any], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Run a command; an error that was raised on purpose, or a file that cannot be used, is one line and status 2."""
    try:
        app()
    except (AntecedentError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
