"""Documents with every sentence marked, so that one in another document's context can be recognised."""

import random
from collections.abc import Iterable

from loadtests.documents import Documents
from loadtests.stage.stand_in import Recorded
from models.config import ContextWindow

_WORDS = ("雨", "駅", "手紙", "彼女", "橋", "夜", "声", "庭", "約束", "海")


def marked_documents(rng: random.Random, documents: int, sentences: int) -> Documents:
    """Make up `documents` documents of `sentences` sentences each; no sentence occurs twice."""
    return tuple(
        tuple(f"文書{document}の{position}番目、{''.join(rng.sample(_WORDS, 3))}。" for position in range(sentences))
        for document in range(documents)
    )


def misplaced(documents: Documents, record: Iterable[Recorded], window: ContextWindow) -> list[str]:
    """Return the sentences that reached a worker with preceding ones other than those in their document's window."""
    expected = {
        sentence: tuple(document[window.around(position)[0] : position])
        for document in documents
        for position, sentence in enumerate(document)
    }
    return [request.source for request in record if expected.get(request.source) != request.preceding]
