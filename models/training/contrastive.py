"""Contrastive evaluation: does the model find the right translation likelier than wrong ones that differ in a pronoun?

An item counts as right only where the right translation scores higher than every wrong one; a tie is no choice, and a
score that is not a number wins against nothing (Müller et al. 2018; the pronoun sets, one item a line of JSON).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel, Field, ValidationError

from models.config import ContextWindow
from models.data.documents import Sentence, Window, crop, read_lines
from models.data.replacement import REAL, Replacement
from models.errors import DataError
from models.training.evaluation import Scorer


@dataclass(frozen=True, slots=True)
class ContrastiveItem:
    """A sentence in its context, its right translation and wrong variants of it."""

    document: str
    position: int
    label: str
    """The class of the item: the right pronoun."""
    window: Window
    """Everything that precedes the sentence, with reference translations; the current sentence has none."""
    right: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContrastiveScores:
    """Accuracies between 0 and 1."""

    accuracy: float
    macro: float
    """Mean of the accuracies of the classes, so that a rare class counts as much as a common one."""
    by_class: dict[str, float]
    items: int


class _Line(BaseModel):
    document: str
    position: int = Field(ge=0)
    pronoun: str
    context_source: list[str]
    context_target: list[str]
    source: str
    target: str
    contrastive: list[str]


def read_contrastive(path: Path) -> list[ContrastiveItem]:
    """Read a set of items, one JSON object a line.

    Wrong variants that equal the right translation, or each other, are left out.

    Raises:
        DataError: the file is missing or has no item, or a line is malformed, has contexts of different lengths, or has
            no wrong variant.
    """
    items = [_item(path, number, line) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    if not items:
        raise DataError("has no item", path)
    return items


def contrast(
    scorer: Scorer, items: Sequence[ContrastiveItem], window: ContextWindow, *, replacement: Replacement = REAL
) -> ContrastiveScores:
    """Score all variants of all items with what `window` takes of their context, and count the items that are right.

    Raises:
        DataError: the replacement is `shuffled`, but all items are of one document.
    """
    windows = [crop(item.window, window) for item in items]
    replaced = replacement.apply(windows, [item.document for item in items])
    variants = [(item.right, *item.wrong) for item in items]
    scores = scorer.score(
        [given for given, texts in zip(replaced, variants, strict=True) for _ in texts],
        [text for texts in variants for text in texts],
    )
    if len(scores) != sum(map(len, variants)):
        raise ValueError(f"{len(scores)} scores of {sum(map(len, variants))} translations")
    remaining = iter(scores)
    outcomes = [_is_right(list(islice(remaining, len(texts)))) for texts in variants]
    return _count([item.label for item in items], outcomes)


def _is_right(scores: Sequence[float]) -> bool:
    """Whether the first score is above all others; no comparison with NaN holds."""
    return all(scores[0] > wrong for wrong in scores[1:])


def _count(labels: Iterable[str], outcomes: Sequence[bool]) -> ContrastiveScores:
    by_label: dict[str, list[bool]] = {}
    for label, outcome in zip(labels, outcomes, strict=True):
        by_label.setdefault(label, []).append(outcome)
    by_class = {label: fmean(by_label[label]) for label in sorted(by_label)}
    return ContrastiveScores(fmean(outcomes), fmean(by_class.values()), by_class, len(outcomes))


def _item(path: Path, number: int, line: bytes) -> ContrastiveItem:
    try:
        fields = _Line.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise DataError(f"is not a contrastive item: {where}{first['msg']}", path, number) from None
    if len(fields.context_source) != len(fields.context_target):
        raise DataError("has contexts of different lengths in source and target", path, number)
    wrong = tuple(dict.fromkeys(text for text in fields.contrastive if text != fields.target))
    if not wrong:
        raise DataError("has no wrong variant of the translation", path, number)
    preceding = map(Sentence, fields.context_source, fields.context_target)
    return ContrastiveItem(
        document=fields.document,
        position=fields.position,
        label=fields.pronoun,
        window=Window(Sentence(fields.source), tuple(preceding)),
        right=fields.target,
        wrong=wrong,
    )
