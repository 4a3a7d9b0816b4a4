"""Which sentence pairs of a corpus are not worth learning from; what is left out stays the context of others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.config import CleaningConfig
from models.data.documents import Sentence

Flags = NDArray[np.bool_]
"""(sentences of the corpus,)."""
Lengths = NDArray[np.int64]
"""(sentences of the corpus,): tokens of a side, end of sentence included."""


KEEP_ALL: Final = CleaningConfig()


def left_out(cleaning: CleaningConfig, sentences: Sequence[Sentence], source: Lengths, target: Lengths) -> Flags:
    """Whether each pair is one of those that the config leaves out.

    Args:
        cleaning: what is left out.
        sentences: all of the corpus, in order.
        source: their lengths.
        target: and those of their translations.
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
    """Whether one side has more than `ratio` times the tokens of the other."""
    return np.maximum(source, target) > ratio * np.minimum(source, target)


def repeated(sentences: Sequence[Sentence], copies: int) -> Flags:
    """Whether a pair has been there `copies` times before, letter by letter."""
    return np.fromiter((before >= copies for before in _occurrences(sentences)), np.bool_, len(sentences))


def untranslated(sentences: Sequence[Sentence]) -> Flags:
    """Whether both sides are the same, as addresses and file names are."""
    return np.fromiter((sentence.source == sentence.target for sentence in sentences), np.bool_, len(sentences))


def _occurrences(sentences: Sequence[Sentence]) -> Iterator[int]:
    seen: Counter[Sentence] = Counter()
    for sentence in sentences:
        yield seen[sentence]
        seen[sentence] += 1
