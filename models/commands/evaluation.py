"""How good a model is."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from models.commands.context import replacement_of, translator_of
from models.commands.options import Beam, Bundle, ComputeType, Device, JsonFile, Kind, Seed, Sentences, Threads
from models.commands.output import report
from models.config import ContextWindow
from models.data.documents import read_documents, read_lines
from models.data.replacement import ContextKind

if TYPE_CHECKING:
    from models.bundle.runtime import Runtime


def evaluate(
    bundle: Bundle,
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    context: Kind = "real",
    seed: Seed = 1,
    sentences: Sentences = None,
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
    documents, window = read_documents(source, reference), runtime.manifest.window.at_most(sentences)
    translator, replacement = translator_of(runtime, context, beam), replacement_of(runtime, context, seed)
    options = evaluation.MetricOptions(lowercase, tokenize)
    result = evaluation.evaluate(translator, documents, window, replacement=replacement, options=options)
    count = lambda text: len(runtime.tokenizer.encode_target(text))  # noqa: E731
    loss = evaluation.reference_loss(translator, count, documents, window, replacement=replacement)
    figures: dict[str, Any] = {**asdict(result.scores), "loss": loss, **_setting(runtime, window, context)}
    if out is not None:
        out.write_text("".join(line + "\n" for line in result.translations), encoding="utf-8")
    if baseline is not None:
        references = [sentence.target or "" for document in documents for sentence in document.sentences]
        other = [line.decode("utf-8", errors="replace") for line in read_lines(baseline)]
        compared = evaluation.compare(other, result.translations, references, options=options)
        figures["compared"] = {metric: asdict(comparison) for metric, comparison in compared.items()}
    report(figures, json_file)


def contrast(
    bundle: Bundle,
    sets: Annotated[
        list[Path], typer.Option("--set", metavar="F", help="Items, Voita's passages or ContraPro.", show_default=False)
    ],
    rule: Annotated[Literal["last", "group"], typer.Option(help="The last sentence, or all but the first.")] = "last",
    context: Kind = "real",
    seed: Seed = 1,
    sentences: Sentences = None,
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
    translator, replacement = translator_of(runtime, context, None), replacement_of(runtime, context, seed)
    count = lambda text: len(runtime.tokenizer.encode_target(text))  # noqa: E731
    window = runtime.manifest.window.at_most(sentences)
    scores = contrastive.contrast(translator, items, window, rule=rule, count_tokens=count, replacement=replacement)
    report({**asdict(scores), **_setting(runtime, window, context), "rule": rule}, json_file)


def _setting(runtime: "Runtime", window: ContextWindow, context: ContextKind) -> dict[str, Any]:
    """Which model the figures are of, and with what context."""
    size = 0 if context in {"none", "empty"} else window.size
    return {"model": runtime.manifest.name, "context": context, "context_sentences": size}
