"""Survey of a training corpus: what cleaning would leave out, and other oddities."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from models.config import RunConfig
from models.data.cleaning import Flags, of_unlike_length, repeated, untranslated
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.data.tokenizer import Tokenizer
from models.training.run import plan_model

RATIOS: Final = (2.0, 3.0, 5.0)
COPIES: Final = (1, 10)
_INVISIBLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028\u2029\ufeff\ufffd\ue000-\uf8ff]")
"""Control, zero-width and private-use characters, and the replacement character."""
_READING: Final = re.compile("[(（][\u3041-\u3096\u30a1-\u30fa\u30fc・、 \u3000]+[)）]")
"""Kana in brackets, which give the reading of the word before."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The pairs of one kind."""

    what: str
    pairs: int
    target_tokens: int
    """End of sentence included."""
    example: str
    """The first pair; empty if there is none."""


def survey(run: RunConfig, documents: Sequence[Document], tokenizer: Tokenizer) -> list[Finding]:
    """Count the pairs of each kind; the first kind is all pairs, the last those that a run would learn from.

    Args:
        run: config of the run.
        documents: its training corpus.
        tokenizer: tokenizer of the run.

    Raises:
        DataError: a sentence has no translation, or nothing is left to learn from.
    """
    sentences = [sentence for document in documents for sentence in document.sentences]
    longest, context = min(run.data.max_tokens, run.backbone.max_length), run.data.max_context_tokens
    corpus = TokenizedCorpus(documents, tokenizer, longest, context, cleaning=run.data.cleaning)
    reader = plan_model(run).architecture
    learnt = np.zeros(len(sentences), np.bool_)
    for batch in corpus.plan(reader, run.training.batch_tokens, seed=0, epoch=0):
        learnt[batch] = True
    kinds = [("all", np.ones_like(learnt)), *_kinds(sentences, corpus, longest), ("learnt from", learnt)]
    return [_finding(what, flags, sentences, corpus) for what, flags in kinds]


def _kinds(sentences: Sequence[Sentence], corpus: TokenizedCorpus, longest: int) -> Iterator[tuple[str, Flags]]:
    source, target = corpus.source_lengths, corpus.target_lengths
    yield f"over {longest} tokens on a side", corpus.lengths > longest
    for ratio in RATIOS:
        yield f"over {ratio:g} times as long on a side", of_unlike_length(source, target, ratio)
    for copies in COPIES:
        yield f"beyond copy {copies}", repeated(sentences, copies)
    yield "the same on both sides", untranslated(sentences)
    yield "with invisible or broken characters", _matching(sentences, lambda text: bool(_INVISIBLE.search(text)))
    yield "with readings in brackets", _matching(sentences, lambda text: bool(_READING.search(text)))


def _matching(sentences: Sequence[Sentence], test: Callable[[str], bool]) -> Flags:
    found = (test(sentence.source) or test(sentence.target or "") for sentence in sentences)
    return np.fromiter(found, np.bool_, len(sentences))


def _finding(what: str, flags: Flags, sentences: Sequence[Sentence], corpus: TokenizedCorpus) -> Finding:
    rows = np.flatnonzero(flags)
    example = "" if not len(rows) else f"{sentences[rows[0]].source} | {sentences[rows[0]].target}"
    return Finding(what, len(rows), int(corpus.target_lengths[rows].sum()), example)
