"""Contrastive evaluation: does the model find the right translation likelier than wrong ones?

An item counts as right only where the right translation scores higher than every wrong one; a tie is no choice, and a
score that is not a number wins against nothing (Müller et al. 2018). With ties to the first, a scorer that cannot tell
variants apart would be right on sets that list the right one first.
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
`group`: that of all sentences but the first, over their number of tokens.
"""


@dataclass(frozen=True, slots=True)
class ContrastiveScores:
    """Accuracies between 0 and 1."""

    accuracy: float
    macro: float
    """Mean of the accuracies of the classes, so that a rare class counts as much as a common one."""
    by_class: dict[str, float]
    by_distance: dict[str, float]
    """By how many sentences back that lies which decides; empty where the set does not say."""
    items: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether an item was right, and what it counts with."""

    document: str
    label: str
    """The class of the item."""
    right: bool
    distance: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """A sentence of a variant of an item: what it is scored as, and in which context."""

    window: Window
    target: str

    @property
    def sentence(self) -> Sentence:
        """What is translated, and its translation."""
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
    """Score all variants of all items in their contexts, and say of each item whether it is right.

    Args:
        scorer: What is evaluated. It reads the translations of a variant as context of its later sentences.
        items: Of one or more sets.
        window: Which sentences around each one the scorer is given.
        rule: What of a variant is compared.
        count_tokens: Tokens of a sentence's translation as the scorer reads it, without its end; for `group`.
        replacement: What stands in place of the context, the same for all variants of an item.

    Raises:
        DataError: the replacement is `shuffled`, but all items are of one document.
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
    """The items as users have them: preceded by what the model makes of those sentences, not by the set's translations.

    Args:
        translator: what is evaluated; one that reads no translations translates nothing.
        items: to be judged by their last sentences.
        window: which sentences around each one the translator is given.

    Raises:
        DataError: the variants of an item differ before its last sentence alone.
    """
    if not translator.reads_target:
        return list(items)
    for item in items:  # before anything is translated, which takes a while
        if all(wrong[-1] == item.right[-1] for wrong in item.wrong):
            raise DataError(f"the variants of an item of document {item.document} do not differ in its last sentence")
    passages = list(dict.fromkeys(item.sources[:-1] for item in items))
    documents = [Document(tuple(map(Sentence, passage))) for passage in passages]
    texts = iter([translation.text for translation in translate_documents(translator, documents, window)])
    made = {passage: tuple(next(texts) for _ in passage) for passage in passages}
    return [_preceded(item, made[item.sources[:-1]]) for item in items]


def require_fitting(items: Sequence[ContrastiveItem], rule: Rule, fits: Callable[[Sentence], bool]) -> None:
    """See to it that a model can score whatever of the items is scored.

    Raises:
        DataError: it cannot; names the item.
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
    """The share of the items that are right: of all, by class and by distance."""
    by_class = _means((one.label, one.right) for one in outcomes)
    by_distance = _means((one.distance, one.right) for one in outcomes if one.distance is not None)
    accuracy = fmean(one.right for one in outcomes)
    return ContrastiveScores(accuracy, fmean(by_class.values()), by_class, by_distance, len(outcomes))


def _judged(item: ContrastiveItem, variant: Translations, window: ContextWindow, rule: Rule) -> list[_Judged]:
    """The sentences of a variant that are scored."""
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
    """What a sentence of a passage is read with: the first one, and the one after the last.

    A passage begins anywhere in its document. Its last block ends where it does, so that the sentence in question has
    as much context as there is, and not what the length of the passage leaves it.
    """
    before = -sentences % (window.size + 1) if window.kind == "block" else 0
    first, end = window.around(before + at)
    return max(0, first - before), end - before


def _replaced(
    judged: Sequence[list[list[_Judged]]], items: Sequence[ContrastiveItem], replacement: Replacement
) -> list[list[list[_Judged]]]:
    """Other contexts, for each sentence of an item the same in all of its variants."""
    rights = [(one.window, item.document) for item, (right, *_) in zip(items, judged, strict=True) for one in right]
    windows = iter(replacement.apply([window for window, _ in rights], [document for _, document in rights]))
    found = []
    for variants in judged:
        shared = [next(windows) for _ in variants[0]]
        found.append([[_Judged(w, one.target) for w, one in zip(shared, variant, strict=True)] for variant in variants])
    return found


def _scores(scorer: Scorer, judged: Iterable[list[list[_Judged]]]) -> dict[_Judged, float]:
    """The score of each sentence in its context; what several variants share is asked for once."""
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
    """Whether the first score is above all others; no comparison with NaN holds."""
    return all(scores[0] > wrong for wrong in scores[1:])


def _means(outcomes: Iterable[tuple[str, bool]]) -> dict[str, float]:
    by_name: dict[str, list[bool]] = {}
    for name, right in outcomes:
        by_name.setdefault(name, []).append(right)
    return {name: fmean(by_name[name]) for name in sorted(by_name)}
