"""Contrastive evaluation: does the model find the right translation likelier than wrong ones?

An item counts as right only if the right translation scores higher than every wrong one; a tie counts as wrong, and so
does a NaN score (Müller et al. 2018). If ties went to the first variant, a scorer that cannot tell variants apart would
be right on sets that list the right one first.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from models.config import ContextWindow
from models.data.documents import Document, Sentence, Window
from models.data.replacement import REAL, Replacement
from models.errors import DataError
from models.evaluation.contrastive_sets import ContrastiveItem, Translations
from models.evaluation.document_translation import Translator, translate_documents
from models.evaluation.metrics import Scorer

Rule = Literal["last", "group"]
"""`last`: the log-probability of the last sentence, end of sentence included, not normalised (Voita et al. 2019).
`group`: the log-probability of all sentences but the first, divided by their number of tokens.
"""


@dataclass(frozen=True, slots=True)
class ContrastiveScores:
    """Accuracies between 0 and 1."""

    accuracy: float
    macro: float
    """Mean of the accuracies of the classes, so that a rare class counts as much as a common one."""
    by_class: dict[str, float]
    by_distance: dict[str, float]
    """Accuracy by how many sentences back the deciding information lies; empty if the set does not say."""
    items: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether an item was right, and the groups that it counts for."""

    document: str
    label: str
    """The class of the item."""
    right: bool
    distance: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """A sentence of an item's variant, as it is scored: its context and its translation."""

    window: Window
    target: str

    @property
    def sentence(self) -> Sentence:
        """The source sentence with this translation."""
        return Sentence(self.window.current.source, self.target)


def outcomes_of(
    scorer: Scorer,
    items: Sequence[ContrastiveItem],
    window: ContextWindow,
    *,
    rule: Rule = "last",
    count_tokens: Callable[[Sentence], int] = lambda sentence: len(sentence.target or ""),
    replacement: Replacement = REAL,
) -> list[Outcome]:
    """Score all variants of all items in their contexts, and decide for each item whether it is right.

    Args:
        scorer: What is evaluated. It reads the translations of a variant as context for its later sentences.
        items: Items of one or more sets.
        window: Which sentences around each one the scorer is given as context.
        rule: What part of a variant is compared.
        count_tokens: Counts the tokens of a sentence's translation as the scorer reads it, without the end of
            sentence; for `group`.
        replacement: What is given in place of the context; the same for all variants of an item.

    Raises:
        DataError: the replacement is `shuffled`, but all items are from one document.
    """
    judged = [[_judged(item, variant, window, rule) for variant in (item.right, *item.wrong)] for item in items]
    if replacement.kind != "real":
        judged = _replaced(judged, items, replacement)
    scores = _scores(scorer, judged)
    rights = (
        _is_right([_total([scores[one] for one in variant], variant, rule, count_tokens) for variant in variants])
        for variants in judged
    )
    return [Outcome(item.document, item.label, right, item.distance) for item, right in zip(items, rights, strict=True)]


def with_own_translations(
    translator: Translator, items: Sequence[ContrastiveItem], window: ContextWindow
) -> list[ContrastiveItem]:
    """Return the items as in real use: with the model's own translations of the context in place of the set's.

    Args:
        translator: what is evaluated; if it reads no translations, nothing is translated.
        items: items that are to be judged by their last sentences.
        window: which sentences around each one the translator is given as context.

    Raises:
        DataError: the variants of an item differ only before its last sentence.
    """
    if not translator.reads_target:
        return list(items)
    for item in items:  # check before translating, which takes a while
        if all(wrong[-1] == item.right[-1] for wrong in item.wrong):
            raise DataError(f"the variants of an item of document {item.document} do not differ in its last sentence")
    passages = list(dict.fromkeys(item.sources[:-1] for item in items))
    documents = [Document(tuple(map(Sentence, passage))) for passage in passages]
    texts = iter([translation.text for translation in translate_documents(translator, documents, window)])
    made = {passage: tuple(next(texts) for _ in passage) for passage in passages}
    return [_preceded(item, made[item.sources[:-1]]) for item in items]


def require_fitting(items: Sequence[ContrastiveItem], rule: Rule, fits: Callable[[Sentence], bool]) -> None:
    """Check that a model can score every sentence of the items that is to be scored.

    Raises:
        DataError: it cannot; the message names the item.
    """
    for item in items:
        for variant in (item.right, *item.wrong):
            for one in _judged(item, variant, ContextWindow(), rule):
                if not fits(one.sentence):
                    raise DataError(f"an item of document {item.document} is too long for the model: {one.target}")


def _preceded(item: ContrastiveItem, translations: Translations) -> ContrastiveItem:
    right, *wrong = dict.fromkeys((*translations, variant[-1]) for variant in (item.right, *item.wrong))
    return replace(item, right=right, wrong=tuple(wrong))


def accuracies(outcomes: Sequence[Outcome]) -> ContrastiveScores:
    """Return the share of right items: overall, by class and by distance."""
    by_class = _means((one.label, one.right) for one in outcomes)
    by_distance = _means((one.distance, one.right) for one in outcomes if one.distance is not None)
    accuracy = fmean(one.right for one in outcomes)
    return ContrastiveScores(accuracy, fmean(by_class.values()), by_class, by_distance, len(outcomes))


def _judged(item: ContrastiveItem, variant: Translations, window: ContextWindow, rule: Rule) -> list[_Judged]:
    """Return the sentences of a variant that are scored."""
    passage = tuple(map(Sentence, item.sources, variant))
    last = len(passage) - 1
    positions = range(last, last + 1) if rule == "last" else range(min(1, last), last + 1)
    found = []
    for at in positions:
        first, end = _around(window, at, len(passage))
        after = tuple(Sentence(sentence.source) for sentence in passage[at + 1 : end])
        found.append(_Judged(Window(Sentence(passage[at].source), passage[first:at], after), variant[at]))
    return found


def _around(window: ContextWindow, at: int, sentences: int) -> tuple[int, int]:
    """Return the range of sentences (first, end) that a sentence of a passage is read with.

    A passage may begin anywhere in its document. Blocks are aligned so that the last one ends with the passage: the
    sentence in question then has a full block of context, whatever the length of the passage.
    """
    before = -sentences % (window.size + 1) if window.kind == "block" else 0
    first, end = window.around(before + at)
    return max(0, first - before), end - before


def _replaced(
    judged: Sequence[list[list[_Judged]]], items: Sequence[ContrastiveItem], replacement: Replacement
) -> list[list[list[_Judged]]]:
    """Replace the contexts; a sentence of an item gets the same one in all variants."""
    rights = [(one.window, item.document) for item, (right, *_) in zip(items, judged, strict=True) for one in right]
    windows = iter(replacement.apply([window for window, _ in rights], [document for _, document in rights]))
    found = []
    for variants in judged:
        shared = [next(windows) for _ in variants[0]]
        found.append([[_Judged(w, one.target) for w, one in zip(shared, variant, strict=True)] for variant in variants])
    return found


def _scores(scorer: Scorer, judged: Iterable[list[list[_Judged]]]) -> dict[_Judged, float]:
    """Score each sentence in its context; a sentence that several variants share is scored once."""
    asked = list(dict.fromkeys(one for variants in judged for variant in variants for one in variant))
    scores = scorer.score([one.window for one in asked], [one.target for one in asked])
    if len(scores) != len(asked):
        raise ValueError(f"{len(scores)} scores of {len(asked)} translations")
    return dict(zip(asked, scores, strict=True))


def _total(
    scores: Sequence[float], variant: list[_Judged], rule: Rule, count_tokens: Callable[[Sentence], int]
) -> float:
    if rule == "last":
        return scores[-1]
    return sum(scores) / sum(count_tokens(one.sentence) + 1 for one in variant)


def _is_right(scores: Sequence[float]) -> bool:
    """Return whether the first score is above all others; comparisons with NaN are false."""
    return all(scores[0] > wrong for wrong in scores[1:])


def _means(outcomes: Iterable[tuple[str, bool]]) -> dict[str, float]:
    by_name: dict[str, list[bool]] = {}
    for name, right in outcomes:
        by_name.setdefault(name, []).append(right)
    return {name: fmean(by_name[name]) for name in sorted(by_name)}
