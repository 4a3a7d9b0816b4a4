"""Training, and what a model is made of."""

from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Annotated

import typer

from models.commands.options import Config, JsonFile, SkipBad, finite
from models.commands.output import print_table, write_json
from models.commands.streams import outliving_readers
from models.config import RunConfig, load_config
from models.config.page import page
from models.errors import packages_needed

Resume = Annotated[bool, typer.Option("--resume", help="Continue from the newest checkpoint, if there is one.")]

if TYPE_CHECKING:
    from models.data.tokenizer import Tokenizer
    from models.engine.windows import WindowTranslator
    from models.network.model import TranslationModel


def values() -> None:
    """Print all values that the YAML file of a run may have, as a Markdown page."""
    typer.echo(page(), nl=False)


def tokenizer(config: Config, skip_bad: SkipBad = False) -> None:
    """Train the SentencePiece model of a run on the run's training corpus."""
    from models.training.run import make_tokenizer

    run = load_config(config)
    made = make_tokenizer(run, skip_bad=skip_bad)
    typer.echo(f"{run.tokenizer.path}: {', '.join(made.files())}")


def survey(config: Config, skip_bad: SkipBad = False, json_file: JsonFile = None) -> None:
    """Count what the training corpus of a run contains, and what cleaning would leave out."""
    from models.data.tokenizer import Tokenizer
    from models.training.run import read_corpus
    from models.training.survey import survey as survey_corpus

    run = load_config(config)
    documents = read_corpus(run.data.train, skip_bad=skip_bad)
    found = survey_corpus(run, documents, Tokenizer.load(run.tokenizer.path))
    lengths = [len(document.sentences) for document in documents]
    sentences = f"{mean(lengths):.1f} sentences on average, {max(lengths):,} at most"
    typer.echo(f"{len(documents):,} documents, with {sentences}")
    rows = [(one.what, f"{one.pairs:,}", f"{one.target_tokens:,}", _shortened(one.example)) for one in found]
    print_table(("pairs", "number", "target tokens", "first example"), rows)
    write_json({"findings": [asdict(one) for one in found]}, json_file)


def train(
    config: Config,
    resume: Resume = False,
    minutes: Annotated[
        float | None, typer.Option(help="End the training after this many minutes.", min=0, callback=finite)
    ] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Train one run; `torchrun --nproc-per-node N -m models train CONFIG` trains on N devices."""
    from models.training.distributed import end_process, speaks_for_all
    from models.training.run import train as train_run

    run = load_config(config)
    with outliving_readers():
        final = train_run(run, _candidate, resume=resume, minutes=minutes, skip_bad=skip_bad)
        if speaks_for_all():
            typer.echo(f"final checkpoint: {final}")
    end_process()


def bert(
    config: Config,
    out: Annotated[Path, typer.Option(help="Folder for the BERT, as named in architecture.bert.", show_default=False)],
    width: Annotated[int, typer.Option(help="Width of its states: bert_width.", min=8)] = 256,
    layers: Annotated[int, typer.Option(help="Number of layers.", min=1)] = 4,
    vocabulary: Annotated[int, typer.Option(help="Maximum number of word pieces.", min=100, max=1_000_000)] = 8000,
    updates: Annotated[int, typer.Option(help="Number of updates.", min=1)] = 10000,
    resume: Resume = False,
    skip_bad: SkipBad = False,
) -> None:
    """Train a small BERT with masked words on the source text of a run; torchrun works as with `train`."""
    with packages_needed("BERT", "bert"):
        from models.training.masked_words import BertPlan, train_bert
    from models.training.distributed import end_process, speaks_for_all
    from models.training.run import read_corpus

    plan = BertPlan(width=width, layers=layers, vocabulary=vocabulary, updates=updates)
    run = load_config(config)
    with outliving_readers():
        documents = read_corpus(run.data.train, skip_bad=skip_bad, quiet=not speaks_for_all())
        made = train_bert(documents, plan, out, resume=resume)
        if speaks_for_all():
            typer.echo(f"BERT: {made}")
    end_process()


def import_marian(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Downloaded model: config.json, weights, *.spm and vocab.json.", show_default=False
        ),
    ],
    config: Config,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Language to translate into, such as jpn, if the model has several.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Turn a Marian model, such as one of OPUS-MT, into a run's final checkpoint, for training context modules."""
    from models.marian.importing import import_marian as import_model

    run = load_config(config)
    final = import_model(folder, run, language)
    typer.echo(f"checkpoint: {final}, tokenizer: {run.tokenizer.path}")


def average(
    checkpoints: Annotated[
        list[Path], typer.Argument(metavar="CHECKPOINT...", help="Folders of checkpoints.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint to write.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Name of the model. Default: that of the first checkpoint.")] = None,
) -> None:
    """Average the weights of several checkpoints, trained from the same initial weights, into a new checkpoint.

    A checkpoint that is given twice counts twice. A sentence model counts only towards the backbone.
    """
    from models.training.averaging import average_runs

    average_runs(checkpoints, out, name)
    typer.echo(f"average of {len(checkpoints)} checkpoints: {out}")


def amplify(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="Folder of a checkpoint.", show_default=False)
    ],
    by: Annotated[
        float,
        typer.Option(help="Factor for the effect of the context.", min=0, max=10, callback=finite, show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint to write.", show_default=False)],
) -> None:
    """Make the context count more in a Doc-Transformer than it has learnt, or less (with a factor below 1).

    Translations with an empty context stay the same. Use a dev set and `contrast` to find the best factor.
    """
    from models.training.amplifying import amplify_run

    amplify_run(checkpoint, out, by)
    typer.echo(f"checkpoint in which the context counts {by:g} times: {out}")


def retokenize(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="Folder of a checkpoint.", show_default=False)
    ],
    tokenizer: Annotated[Path, typer.Option(help="Folder of the other tokenizer.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint to write.", show_default=False)],
) -> None:
    """Give a model another tokenizer, to train it on with that: what it has learnt about the pieces of both stays.

    Pieces that are new begin as the mean of those that they were divided into before.
    """
    from models.training.retokenizing import retokenize_run

    retokenize_run(checkpoint, tokenizer, out)
    typer.echo(f"checkpoint with the tokenizer of {tokenizer}: {out}")


def describe(
    model: Annotated[Path, typer.Argument(metavar="CONFIG|BUNDLE", show_default=False)], json_file: JsonFile = None
) -> None:
    """Print how many parameters of each part of a model are trained, and how many frozen, in training with context."""
    from models.bundle.description import leaves_nothing_frozen, unfreezes, unloaded_model
    from models.network.parameters import count_parameters
    from models.training.run import plan_model

    if model.is_dir():
        built, unfreeze = unloaded_model(model), unfreezes(model)
    else:
        config = load_config(model)
        built, unfreeze = plan_model(config), leaves_nothing_frozen(config)
    parts = count_parameters(built, unfreeze=unfreeze)
    rows = [(part.name, f"{part.trained:,}", f"{part.frozen:,}") for part in parts]
    total = ("all", f"{sum(part.trained for part in parts):,}", f"{sum(part.frozen for part in parts):,}")
    print_table(("part", "trained", "frozen"), [*rows, total])
    write_json({"parts": [asdict(part) for part in parts]}, json_file)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _candidate(config: RunConfig, tokenizer: "Tokenizer", model: "TranslationModel") -> "WindowTranslator":
    """Return a model in training as validation sees it: decoding greedily, with its context."""
    from models.engine.requests import Options
    from models.engine.runtime import Runtime
    from models.engine.windows import WindowTranslator

    return WindowTranslator(Runtime.of(config, tokenizer, model), Options(beam_size=1))
