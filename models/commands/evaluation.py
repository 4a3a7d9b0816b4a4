"""How good a model is."""

from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

import typer

from models.commands.context import SearchSettings, Setting, translator_of
from models.commands.files import readable
from models.commands.options import (
    Alpha,
    Beam,
    Bundle,
    ComputeType,
    Device,
    GainsFile,
    JsonFile,
    Kind,
    Only,
    OutcomesFile,
    Patience,
    Seed,
    Sentences,
    SkipBad,
    Threads,
    TranslationsFile,
    require_own_files,
)
from models.commands.output import report, write_lines
from models.data.documents import BadLines, Sentence, read_documents, read_translations
from models.errors import ConfigError


def evaluate(
    bundle: Bundle,
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    context: Kind = "real",
    seed: Seed = 1,
    sentences: Sentences = None,
    beam: Beam = None,
    alpha: Alpha = None,
    patience: Patience = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare text in lower case.")] = False,
    tokenize: Annotated[str, typer.Option(metavar="T", help="sacreBLEU's tokenizer.")] = "13a",
    out: TranslationsFile = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="F", help="Translations of another system to compare with.")
    ] = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Translate documents and score them: BLEU, chrF, document BLEU, and the loss of the references."""
    from models.commands.measuring import translated
    from models.engine.corpus import require_translatable
    from models.engine.runtime import Runtime
    from models.evaluation import metrics

    require_own_files(out, json_file, source, reference)
    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    setting = Setting(runtime, context, seed, sentences)
    with readable(source) as file:  # it is read twice, which a pipe does not allow
        documents = read_documents(file, reference)
        require_translatable(runtime, file)
    references = [sentence.target or "" for document in documents for sentence in document.sentences]
    other = None if baseline is None else _baseline(baseline, len(references))  # now, as `out` may replace the file
    options = metrics.MetricOptions(lowercase, tokenize)
    figures, translations = translated(setting, documents, options, SearchSettings(beam, alpha, patience))
    if other is not None:
        compared = metrics.compare(other, translations, references, options=options)
        figures["compared"] = {metric: asdict(comparison) for metric, comparison in compared.items()}
    report(figures, json_file, None if out is None else partial(write_lines, translations, out))


def _baseline(file: Path, count: int) -> list[str]:
    """Read another system's translations; errors show before anything is translated."""
    translations = read_translations(file)
    if len(translations) != count:
        raise typer.BadParameter(
            f"{file}: has {len(translations)} lines, but there are {count} references: it must have one line for each,"
            " and none between documents"
        )
    return translations


def contrast(
    bundle: Bundle,
    sets: Annotated[
        list[Path],
        typer.Option(
            "--set", metavar="F", help="Items or Voita's passages (files), or ContraPro (a folder).", show_default=False
        ),
    ],
    rule: Annotated[
        Literal["last", "group"], typer.Option(help="What is scored: the last sentence, or all but the first.")
    ] = "last",
    own: Annotated[
        bool,
        typer.Option(
            "--own", help="Use the model's own translations of the preceding sentences, as in service, not the set's."
        ),
    ] = False,
    context: Kind = "real",
    seed: Seed = 1,
    sentences: Sentences = None,
    out: OutcomesFile = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="F", help="Outcomes of another system to compare with.")
    ] = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Measure how often the right translation is more likely than the wrong ones."""
    from models.commands.measuring import judged
    from models.engine.runtime import Runtime
    from models.evaluation.contrastive_sets import read_contrastive
    from models.evaluation.significance import compare_outcomes, read_outcomes, require_same_items, write_outcomes

    if own and rule == "group":
        raise typer.BadParameter("--own needs --rule last: a group is scored with all its translations")
    require_own_files(out, json_file, *sets)
    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    items = [item for path in sets for item in read_contrastive(path)]
    other = None if baseline is None else read_outcomes(baseline)  # now, as `out` may replace the file
    if other is not None:
        require_same_items(other, items)
    figures, outcomes = judged(Setting(runtime, context, seed, sentences), items, rule, own=own)
    if other is not None:
        compared = compare_outcomes(other, outcomes)
        figures["compared"] = {figure: asdict(comparison) for figure, comparison in compared.items()}
    report(figures, json_file, None if out is None else partial(write_outcomes, outcomes, out))


def cxmi(
    bundle: Bundle,
    source: Annotated[Path, typer.Option(metavar="F", help="Source documents.", show_default=False)],
    reference: Annotated[Path, typer.Option(metavar="F", help="Their translations.", show_default=False)],
    out: GainsFile = None,
    only: Only = None,
    skip_bad: SkipBad = False,
    sentences: Sentences = None,
    device: Device = "cpu",
    compute_type: ComputeType = "auto",
    threads: Threads = 1,
    json_file: JsonFile = None,
) -> None:
    """Measure how much more likely the context makes each reference translation, in nats.

    With --only, only matching references are scored. The others, and those too long to be scored, are left out of the
    figures, and have a gain of 0 in the file that --out names.
    """
    from tqdm import tqdm

    from models.data.emphasis import write_gains
    from models.engine.runtime import Runtime
    from models.evaluation.cxmi import pointwise, summary
    from models.training.run import name_bad_lines

    require_own_files(out, json_file, source, reference)
    runtime = Runtime.open(bundle, device=device, compute_type=compute_type, threads=threads)
    bad = BadLines() if skip_bad else None
    setting = Setting(runtime, "real", 1, sentences)
    if setting.window.most == 0:
        raise ConfigError(f"{bundle}: there is no context whose effect could be measured")
    documents = read_documents(source, reference, bad=bad)
    if bad is not None:
        name_bad_lines(bad, source)
    translator = translator_of(runtime, "real")

    def asked(sentence: Sentence) -> bool:
        return only is None or only.search(sentence.target or "") is not None

    def scored(sentence: Sentence) -> bool:
        return asked(sentence) and translator.fits(sentence)

    with tqdm(total=sum(len(document.sentences) for document in documents), unit="sentence") as bar:
        gains = pointwise(translator, documents, setting.window, fits=scored, advance=bar.update)
    every = [sentence for document in documents for sentence in document.sentences]
    found = summary([gain for sentence, gain in zip(every, chain(*gains), strict=True) if scored(sentence)])
    too_long = sum(asked(sentence) and not scored(sentence) for sentence in every)
    figures = asdict(found) | ({"not_scored": too_long} if too_long else {}) | setting.figures
    report(figures, json_file, None if out is None else partial(write_gains, out, gains))
