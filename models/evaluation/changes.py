"""Where two systems' translations of a text, or those with and without context, differ, and which is better."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF

from models.data.documents import Document, Sentence
from models.errors import DataError


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence that two systems translate differently."""

    document: str
    position: int
    """Position in the document, from 0."""
    preceding: tuple[Sentence, ...]
    """The sentences before it, nearest last."""
    sentence: Sentence
    """The sentence with its reference."""
    baseline: str
    system: str
    gain: float
    """How much closer to the reference the system is: the difference in sentence chrF (Popovic 2015), -100 to 100."""


def find_changes(
    documents: Sequence[Document], baseline: Sequence[str], system: Sequence[str], preceding: int
) -> list[Change]:
    """Return all sentences whose translations differ, the largest gains first.

    Args:
        documents: the text, with references.
        baseline: a translation of each sentence, in order.
        system: another translation of each sentence.
        preceding: how many sentences before each to show.

    Raises:
        DataError: there are more or fewer translations than sentences, or a sentence has no reference.
    """
    count = sum(len(document.sentences) for document in documents)
    if not len(baseline) == len(system) == count:
        raise DataError(
            f"baseline and system have {len(baseline)} and {len(system)} lines, but the documents have {count}"
            " sentences: they must have one line for each, and none between documents"
        )
    pairs = iter(zip(baseline, system, strict=True))
    chrf = CHRF()
    found = [
        _change(chrf, document, position, preceding, *next(pairs))
        for document in documents
        for position in range(len(document.sentences))
    ]
    return sorted((one for one in found if one.baseline != one.system), key=lambda one: one.gain, reverse=True)


def _change(chrf: CHRF, document: Document, position: int, preceding: int, baseline: str, system: str) -> Change:
    sentence = document.sentences[position]
    if sentence.target is None:
        raise DataError("a sentence has no reference translation", document.name)
    scores = [chrf.sentence_score(text, [sentence.target]).score for text in (baseline, system)]
    before = document.sentences[max(0, position - preceding) : position]
    return Change(document.name, position, before, sentence, baseline, system, scores[1] - scores[0])
