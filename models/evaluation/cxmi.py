"""How much the context helps each translation: conditional cross-mutual information, sentence by sentence.

P-CXMI (Fernandes et al. 2023, eq. 2) is log p(y | x, C) - log p(y | x), both from one model that was trained both with
and without context; its mean over a corpus is the CXMI of Fernandes et al. 2021, eq. 3. Here y is a sentence's
reference.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from models.config import ContextWindow
from models.data.documents import PIECE_SENTENCES, Document, Sentence, Window, windows
from models.errors import DataError
from models.evaluation.metrics import Scorer


def pointwise(
    scorer: Scorer,
    documents: Sequence[Document],
    reach: ContextWindow,
    *,
    fits: Callable[[Sentence], bool],
    advance: Callable[[int], object],
) -> list[list[float]]:
    """Compute the P-CXMI of each sentence of each document, in nats.

    Args:
        scorer: the model.
        documents: sentences with their reference translations.
        reach: which sentences around each one are its context.
        fits: whether the model can score a sentence; one that it cannot gets 0, but still serves as context.
        advance: called with the number of sentences done since the last call.

    Raises:
        DataError: a sentence has no reference.
    """
    gains: list[float] = []
    every = (each for document in documents for each in windows(document, reach))
    while piece := list(islice(every, PIECE_SENTENCES)):
        values = iter(_differences(scorer, [each for each in piece if fits(each.current)]))
        gains += [next(values) if fits(each.current) else 0.0 for each in piece]
        advance(len(piece))
    rest = iter(gains)
    return [list(islice(rest, len(document.sentences))) for document in documents]


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a corpus's P-CXMI."""

    sentences: int
    cxmi: float
    """Mean over all sentences, in nats."""
    helped: float
    """Share of the sentences whose translation is likelier with context."""
    helped_by_a_nat: float
    """Share of the sentences whose translation is likelier by more than a nat, that is, 2.7 times as likely."""


def summary(values: Sequence[float]) -> Summary:
    """Summarize the values of sentences.

    Raises:
        DataError: there is no sentence.
    """
    if not values:
        raise DataError("there are no sentences to score")
    count = len(values)
    helped, by_a_nat = (sum(gain > least for gain in values) / count for least in (0, 1))
    return Summary(count, sum(values) / count, helped, by_a_nat)


def _differences(scorer: Scorer, given: Sequence[Window]) -> list[float]:
    references = [_reference(each) for each in given]
    asked = [replace(each, current=Sentence(each.current.source)) for each in given]
    real = scorer.score(asked, references)
    empty = scorer.score([Window(each.current) for each in asked], references)
    return [with_context - without for with_context, without in zip(real, empty, strict=True)]


def _reference(given: Window) -> str:
    if given.current.target is None:
        raise DataError("a sentence has no reference translation")
    return given.current.target
