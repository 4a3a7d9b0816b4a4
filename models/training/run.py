"""A whole training run, from its config to a final checkpoint."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import torch

from models.config import Corpus, RunConfig, TokenizerConfig, data_folder
from models.data.batches import ContextReader
from models.data.corpus import TokenizedCorpus
from models.data.documents import BadLines, Document, read_documents
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.data.trainer_spec import difference
from models.errors import CheckpointError, ConfigError, DataError
from models.network.model import TranslationModel
from models.training.checkpoints import is_checkpoint, list_checkpoints
from models.training.curves import Curves
from models.training.distributed import World, join_world
from models.training.trainer import Trainer
from models.training.validation import Candidate, Validation

NAMED_BAD_LINES = 20
_LONG_DOCUMENT = 100
"""Sentences; a corpus that is a single, longer document probably lacks empty lines between documents."""

MakeCandidate = Callable[[RunConfig, Tokenizer, TranslationModel], Candidate]


def name_bad_lines(bad: BadLines, file: Path) -> None:
    """Report how many pairs of lines were left out of a corpus, and name the first of them."""
    if not bad.count:
        return
    print(f"{file}: {bad.count} pairs of lines were left out", file=sys.stderr)
    for reason in bad.found[:NAMED_BAD_LINES]:
        print(f"  {reason}", file=sys.stderr)
    if bad.count > NAMED_BAD_LINES:
        print(f"  and {bad.count - NAMED_BAD_LINES} more", file=sys.stderr)


def read_corpus(corpus: Corpus, *, skip_bad: bool = False, quiet: bool = False) -> list[Document]:
    """Read the documents of a corpus in the data folder; with `skip_bad`, report what was left out.

    Raises:
        DataError: a file is missing or empty, or a line is unusable and `skip_bad` is not set.
    """
    bad = BadLines() if skip_bad else None
    folder = data_folder()
    documents = read_documents(folder / corpus.source, folder / corpus.target, bad=bad)
    if bad is not None and not quiet:
        name_bad_lines(bad, corpus.source)
    if not any(document.sentences for document in documents):
        raise DataError("has no sentences", folder / corpus.source)
    if not quiet and (why := _without_context(documents)):
        print(f"{folder / corpus.source}: {why}; an empty line ends a document", file=sys.stderr)
    return documents


def _without_context(documents: Sequence[Document]) -> str:
    """Describe document boundaries that leave a model no context to learn from; empty if they are fine."""
    lengths = [len(document.sentences) for document in documents]
    if len(lengths) == 1 and lengths[0] > _LONG_DOCUMENT:
        return f"all of its {lengths[0]:,} sentences are one document"
    return "none of its documents has more than one sentence" if max(lengths) == 1 else ""


def make_tokenizer(config: RunConfig, *, skip_bad: bool = False) -> Tokenizer:
    """Train the SentencePiece models of a run on its training corpus, and write them to the config's path.

    Raises:
        CheckpointError: there is another tokenizer already.
        DataError: the corpus cannot be read, or is too small for the vocabulary.
    """
    documents = read_corpus(config.data.train, skip_bad=skip_bad)
    sentences = [sentence for document in documents for sentence in document.sentences]
    return train_tokenizer(config.tokenizer, (s.source for s in sentences), (s.target or "" for s in sentences))


def plan_model(config: RunConfig) -> TranslationModel:
    """Build a config's model without weights, with vocabularies of the requested size."""
    size = config.tokenizer.vocabulary
    with torch.device("meta"):
        return TranslationModel(config.backbone, config.architecture, size, size)


def train(
    config: RunConfig,
    candidate: MakeCandidate,
    *,
    resume: bool = False,
    minutes: float | None = None,
    skip_bad: bool = False,
) -> Path:
    """Train one run, in this process or in all those started by torchrun.

    Args:
        config: the run's config.
        candidate: builds, from config, tokenizer and model, what translates and scores the dev sets.
        resume: continue from the newest checkpoint, if there is one.
        minutes: end after so many minutes with a final checkpoint; `resume` continues from there.
        skip_bad: leave out and report unusable lines.

    Returns:
        The folder of the final checkpoint.

    Raises:
        CheckpointError: the run has checkpoints and is not resumed, or a final model without any, or one is damaged or
            could not be written.
        ConfigError: the config contradicts itself, the corpus, the tokenizer or the device's memory.
        DataError: the corpus cannot be read.
    """
    _check_output(config.output, resume=resume)
    with join_world() as world:
        tokenizer = Tokenizer.load(config.tokenizer.path)
        if not list_checkpoints(config.output):  # else the checkpoint's is compared
            check_tokenizer(config.tokenizer, tokenizer)
        if world.leads:
            print(f"training on {world.device.type}, in {world.size} process{'es' * (world.size > 1)}", file=sys.stderr)
        corpus = _corpus(config, tokenizer, world, skip_bad=skip_bad)
        trainer = Trainer(config, tokenizer, corpus, world, resume=resume)
        if world.leads:
            _tell_what_is_left_out(config, corpus, trainer.model.architecture)
        validation = Validation(config, tokenizer, partial(candidate, config, tokenizer), quiet=not world.leads)
        return trainer.run(validation, Curves(config.output / "curves" if world.leads else None), minutes)


def _check_output(folder: Path, *, resume: bool) -> None:
    """Refuse a folder with an earlier run or an unpacked model; find out early whether it can be written to."""
    if list_checkpoints(folder):
        if not resume:
            raise CheckpointError(f"{folder}: has checkpoints of an earlier run; continue it with --resume")
    elif is_checkpoint(folder / "final"):
        raise CheckpointError(
            f"{folder}: has a final model, but no checkpoints to continue from; choose another output folder"
        )
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        with TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be written to: {error.strerror}") from error


def check_tokenizer(config: TokenizerConfig, found: Tokenizer) -> None:
    """Refuse a tokenizer other than the one the config asks for, which would train without an error.

    One of two vocabularies may differ in size: they may come from elsewhere.

    Raises:
        ConfigError: it differs; the message names the first value that does.
    """
    for model in (found.source, found.target):
        if odd := difference(model.serialized_model_proto(), config):
            raise ConfigError(f"{config.path}: {odd}")
    if found.joint != config.joint:
        holds = "one vocabulary for both languages" if found.joint else "a vocabulary for each language"
        raise ConfigError(f"{config.path}: contains {holds}, but tokenizer.joint is {str(config.joint).lower()}")
    sizes = {len(pieces) for pieces in (found.source_pieces, found.target_pieces)}
    if config.vocabulary not in sizes:
        has = " and ".join(map(str, sorted(sizes)))
        raise ConfigError(f"{config.path}: has {has} pieces, but tokenizer.vocabulary is {config.vocabulary}")


def _tell_what_is_left_out(config: RunConfig, corpus: TokenizedCorpus, reader: ContextReader) -> None:
    """Report pairs that training ignores: perhaps most of a corpus, because of a value meant for another one."""
    pairs, learnt, data = len(corpus.lengths), corpus.learnt_from(reader), config.data
    if learnt < pairs:
        print(f"{data.train.source}: learns from {learnt:,} of {pairs:,} pairs; `survey` says why", file=sys.stderr)
    asked, positions = data.max_tokens, config.backbone.max_length
    if beyond := np.count_nonzero((corpus.lengths > positions) & (corpus.lengths <= asked)):
        limits = f"data.max_tokens is {asked}, but backbone.max_length is {positions}"
        print(f"{limits}: {beyond:,} pairs are longer", file=sys.stderr)


def _corpus(config: RunConfig, tokenizer: Tokenizer, world: World, *, skip_bad: bool) -> TokenizedCorpus:
    documents = read_corpus(config.data.train, skip_bad=skip_bad, quiet=not world.leads)
    data = config.data
    return TokenizedCorpus(
        documents,
        tokenizer,
        min(data.max_tokens, config.backbone.max_length),
        data.max_context_tokens,
        cleaning=data.cleaning,
        emphasis=config.training.emphasis,
        subword_sampling=config.training.subword_sampling,
    )
