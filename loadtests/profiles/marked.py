"""Documents whose every sentence is marked, so that a sentence in another document's context can be recognised."""

import random
from collections.abc import Iterable

from loadtests.stage.stand_in import Recorded
from models.config import ContextWindow

_WORDS = ("雨", "駅", "手紙", "彼女", "橋", "夜", "声", "庭", "約束", "海")

Marked = tuple[tuple[str, ...], ...]
"""Documents as sentences."""


def marked_documents(rng: random.Random, documents: int, sentences: int) -> Marked:
    """So many documents of so many sentences; no sentence occurs twice."""
    return tuple(
        tuple(f"文書{document}の{position}番目、{''.join(rng.sample(_WORDS, 3))}。" for position in range(sentences))
        for document in range(documents)
    )


def misplaced(documents: Marked, record: Iterable[Recorded], window: ContextWindow) -> list[str]:
    """What reached a worker with other preceding sentences than those of its own document in its window, in order."""
    expected = {
        sentence: tuple(document[window.around(position)[0] : position])
        for document in documents
        for position, sentence in enumerate(document)
    }
    return [request.source for request in record if expected.get(request.source) != request.preceding]
