"""How sure a model usually is of its translations, so that its users can tell when it is less so."""

from collections.abc import Sequence
from statistics import quantiles
from typing import Final, cast

from models.data.documents import Document
from models.engine.requests import Translation
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from models.evaluation.document_translation import translate_documents

FEWEST: Final = 50
"""Translations that the score of the least sure tenth is estimated from at least."""
ENOUGH: Final = 500
"""No further sentence is translated once there are so many: a set may be a single document of any length."""


def score_of_least_sure_tenth(runtime: Runtime, documents: Sequence[Document]) -> float | None:
    """Translate documents as they are by default; return the score that a tenth of the translations stay below.

    A score is the mean log-probability of a translation's tokens, in nats. None if there are too few sentences.
    """
    scores = list[float]()
    for document in documents:
        begin = Document(document.sentences[: ENOUGH - len(scores)], document.name)
        found = translate_documents(WindowTranslator(runtime), [begin], runtime.manifest.window)
        scores += [each.score for each in cast(list[Translation], found) if each.tokens]
        if len(scores) >= ENOUGH:
            break
    return quantiles(scores, n=10)[0] if len(scores) >= FEWEST else None
