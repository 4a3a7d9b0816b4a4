"""Dev-set figures during training: loss, BLEU and contrastive accuracy."""

import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import torch

from models.config import RunConfig, data_folder
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence, read_documents
from models.data.tokenizer import Tokenizer
from models.errors import DataError
from models.evaluation.contrastive import accuracies, outcomes_of, require_fitting
from models.evaluation.contrastive_sets import ContrastiveItem, read_contrastive
from models.evaluation.document_translation import Translator
from models.evaluation.metrics import Scorer, evaluate
from models.network.model import TranslationModel
from models.training.objective import count_tokens, token_losses

BUDGET = 4096
"""Padded tokens per validation batch."""


class Candidate(Translator, Scorer, Protocol):
    """A model in training, in the form that evaluation needs."""


MakeCandidate = Callable[[TranslationModel], Candidate]


@torch.inference_mode()
def mean_loss(model: TranslationModel, corpus: TokenizedCorpus) -> float:
    """Return the cross-entropy per target token, in nats and without label smoothing, with the real context."""
    total, tokens = 0.0, 0
    for indices in corpus.plan(model.architecture, BUDGET, seed=0, epoch=0):
        batch = corpus.batch(indices, model.architecture).to(model.device)
        total += token_losses(model, batch).sum().item()
        tokens += count_tokens(batch)[0]
    return total / tokens


class Validation:
    """Computes dev-set figures of a model in training, in evaluation mode, for the sets that the config has."""

    def __init__(
        self, config: RunConfig, tokenizer: Tokenizer, candidate: MakeCandidate, *, quiet: bool = False
    ) -> None:
        """Read the config's dev sets; unless `quiet`, report if the loss does not cover all pairs.

        Raises:
            DataError: one cannot be read, or has an item that is too long for the model. (Sentences that are too long
                are translated in parts, as in the service.)
        """
        self._candidate = candidate
        self._corpus: TokenizedCorpus | None = None
        self._documents: list[Document] = []
        self._items: list[ContrastiveItem] = []
        folder, data = data_folder(), config.data
        if data.dev is not None:
            documents = read_documents(folder / data.dev.source, folder / data.dev.target)
            self._corpus = _corpus_of(documents, tokenizer, config.backbone.max_length, folder / data.dev.source)
            if not quiet:
                _tell_what_is_left_out(self._corpus, config.backbone.max_length, data.dev.source)
            self._documents = _first(documents, config.training.dev_sentences)
        if data.contrastive is not None:
            self._items = read_contrastive(folder / data.contrastive)
            require_fitting(self._items, "last", partial(_fits, tokenizer, config.backbone.max_length))

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """Return the figures by name."""
        figures: dict[str, float] = {}
        candidate, window = self._candidate(model), model.architecture.window
        if self._corpus is not None:
            figures["loss"] = mean_loss(model, self._corpus)
        if self._documents:
            figures["bleu"] = evaluate(candidate, self._documents, window).scores.bleu
        if self._items:
            scores = accuracies(outcomes_of(candidate, self._items, window))
            figures |= {"contrastive": scores.accuracy, "contrastive_macro": scores.macro}
        return figures


def _fits(tokenizer: Tokenizer, positions: int, sentence: Sentence) -> bool:
    """Whether a sentence and its translation fit, end of sentence included."""
    source, target = tokenizer.encode_source(sentence.source), tokenizer.encode_target(sentence.target or "")
    return max(len(source), len(target)) < positions


def _corpus_of(documents: list[Document], tokenizer: Tokenizer, positions: int, file: Path) -> TokenizedCorpus:
    try:
        return TokenizedCorpus(documents, tokenizer, positions)
    except DataError as error:
        raise DataError(str(error), file) from None


def _tell_what_is_left_out(corpus: TokenizedCorpus, positions: int, file: Path) -> None:
    usable, pairs = len(corpus.usable), len(corpus.lengths)
    if usable < pairs:
        print(
            f"{file}: the dev loss is that of {usable:,} of {pairs:,} pairs; the others have more than {positions - 1}"
            " tokens on a side, or none",
            file=sys.stderr,
        )


def _first(documents: list[Document], sentences: int) -> list[Document]:
    """Return whole documents from the first on, until they have so many sentences."""
    before = accumulate((len(document.sentences) for document in documents), initial=0)
    return [document for document, count in zip(documents, before, strict=False) if count < sentences]
