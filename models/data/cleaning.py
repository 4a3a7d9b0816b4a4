"""Selection of sentence pairs that are not worth learning from; they still serve as context of others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.config import CleaningConfig
from models.data.documents import Sentence

Flags = NDArray[np.bool_]
"""One flag per sentence of the corpus."""
Lengths = NDArray[np.int64]
"""Tokens of a side per sentence of the corpus, end of sentence included."""


KEEP_ALL: Final = CleaningConfig()


def left_out(cleaning: CleaningConfig, sentences: Sequence[Sentence], source: Lengths, target: Lengths) -> Flags:
    """Return, for each pair, whether the config leaves it out.

    Args:
        cleaning: what is left out.
        sentences: all sentences of the corpus, in order.
        source: lengths of the sentences.
        target: lengths of their translations.
    """
    found: Flags = np.zeros(len(sentences), dtype=np.bool_)
    if cleaning.max_ratio is not None:
        found |= of_unlike_length(source, target, cleaning.max_ratio)
    if cleaning.max_copies is not None:
        found |= repeated(sentences, cleaning.max_copies)
    if cleaning.untranslated:
        found |= untranslated(sentences)
    return found


def of_unlike_length(source: Lengths, target: Lengths, ratio: float) -> Flags:
    """Return, for each pair, whether one side has more than `ratio` times the tokens of the other."""
    return np.maximum(source, target) > ratio * np.minimum(source, target)


def repeated(sentences: Sequence[Sentence], copies: int) -> Flags:
    """Return, for each pair, whether identical ones have occurred `copies` times before it."""
    return np.fromiter((before >= copies for before in _occurrences(sentences)), np.bool_, len(sentences))


def untranslated(sentences: Sequence[Sentence]) -> Flags:
    """Return, for each pair, whether both sides are equal, as in addresses and file names."""
    return np.fromiter((sentence.source == sentence.target for sentence in sentences), np.bool_, len(sentences))


def _occurrences(sentences: Sequence[Sentence]) -> Iterator[int]:
    seen: Counter[Sentence] = Counter()
    for sentence in sentences:
        yield seen[sentence]
        seen[sentence] += 1
