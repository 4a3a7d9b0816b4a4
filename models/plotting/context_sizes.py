"""BLEU and accuracy against the number of context sentences, from what `evaluate` and `contrast` wrote with --json."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from models.errors import PictureError
from models.evaluation.results import Result

Figure = Literal["bleu", "accuracy"]
FIGURES: Final[tuple[Figure, ...]] = ("bleu", "accuracy")


@dataclass(frozen=True, slots=True)
class Series:
    """A figure of one system: BLEU between 0 and 100, accuracy between 0 and 1."""

    system: str
    figure: Figure
    sentences: list[int]
    values: list[float]


def series_of(results: Sequence[Result]) -> list[Series]:
    """Return a series for each system and each figure that the results have, in their order.

    Raises:
        PictureError: they have neither BLEU nor accuracy.
    """
    points: dict[tuple[str, Figure], dict[int, float]] = {}
    for result in results:
        kind = "no" if result.context == "none" else result.context
        system = result.model if kind in ("real", "empty") else f"{result.model}, {kind} context"
        for figure in FIGURES:
            value = getattr(result, figure)
            if value is not None:
                points.setdefault((system, figure), {}).setdefault(result.context_sentences, value)
    if not points:
        raise PictureError("context-sizes needs BLEU or accuracy")
    return [Series(*key, sorted(known), [known[n] for n in sorted(known)]) for key, known in points.items()]
