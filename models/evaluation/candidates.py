"""Several translations of each of some sentences of a corpus, and how near each of them is to the reference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean

import numpy as np

from models.config import ContextWindow
from models.data.candidates import Candidate
from models.data.documents import Document, Sentence, Window, in_pieces, windows
from models.errors import DataError
from models.evaluation.metrics import DEFAULT_METRICS, MetricOptions, SentenceScorer

Propose = Callable[[Sequence[Window]], Sequence[Sequence[str]]]
"""Gives several translations of the current sentence of each window."""


def draw(documents: Sequence[Document], sentences: int | None, seed: int) -> frozenset[int]:
    """The numbers of documents that have at least so many sentences together, at random; without a number, of all."""
    if sentences is None:
        return frozenset(range(len(documents)))
    drawn: set[int] = set()
    for number in map(int, np.random.default_rng(seed).permutation(len(documents))):
        if sentences <= 0:
            break
        drawn.add(number)
        sentences -= len(documents[number].sentences)
    return frozenset(drawn)


def find_candidates(
    propose: Propose,
    documents: Sequence[Document],
    reach: ContextWindow,
    *,
    drawn: frozenset[int],
    fits: Callable[[Sentence], bool],
    advance: Callable[[int], object],
    options: MetricOptions = DEFAULT_METRICS,
) -> list[list[list[Candidate]]]:
    """Translations of each sentence of each document, each with its gain: its sentence BLEU.

    Args:
        propose: the model.
        documents: sentences with their reference translations, which stand in their contexts as in training.
        reach: which sentences around each one are its context.
        drawn: the numbers of the documents that are translated; sentences of others have no candidates.
        fits: whether a sentence is translated; one that is not is context all the same.
        advance: told of each number of sentences that are done.
        options: how text is compared.

    Raises:
        ConfigError: sacreBLEU does not offer the tokenizer here.
        DataError: a sentence has no reference.
    """
    scorer, found = SentenceScorer(options), []
    for piece in in_pieces([document for number, document in enumerate(documents) if number in drawn]):
        given = [window for document in piece for window in windows(document, reach)]
        asked = [each for each in given if fits(each.current)]
        proposed = iter(propose([replace(each, current=Sentence(each.current.source)) for each in asked]))
        each_found = (_judged(next(proposed), each.current, scorer) if fits(each.current) else [] for each in given)
        found += [list(islice(each_found, len(document.sentences))) for document in piece]
        advance(len(given))
    translated = iter(found)
    return [
        next(translated) if number in drawn else [[] for _ in document.sentences]
        for number, document in enumerate(documents)
    ]


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the candidates of a corpus; gains are means over its sentences."""

    sentences: int
    """Those that have candidates."""
    candidates: float
    """Of a sentence, on average."""
    first: float
    """Gain of the one that the search prefers."""
    best: float
    worst: float


def summary(candidates: Sequence[Sequence[Candidate]]) -> Summary:
    """What the candidates of sentences, best of the search first, come to.

    Raises:
        DataError: no sentence has any.
    """
    gains = [[each.gain for each in sentence] for sentence in candidates if sentence]
    if not gains:
        raise DataError("no sentence was translated")
    return Summary(
        len(gains),
        candidates=fmean(map(len, gains)),
        first=fmean(each[0] for each in gains),
        best=fmean(map(max, gains)),
        worst=fmean(map(min, gains)),
    )


def _judged(proposed: Sequence[str], sentence: Sentence, scorer: SentenceScorer) -> list[Candidate]:
    """The translations that differ and are not empty."""
    if sentence.target is None:
        raise DataError("a sentence has no reference translation")
    texts = dict.fromkeys(text for text in proposed if text.strip())
    return [Candidate(text, scorer.gain(text, sentence.target)) for text in texts]
