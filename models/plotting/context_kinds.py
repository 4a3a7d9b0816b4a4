"""What the kind of context does to each system: figures with the real context against replaced or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from models.data.replacement import ContextKind
from models.errors import PictureError
from models.evaluation.results import Result

Figure = Literal["loss", "bleu", "macro"]
FIGURES: Final[tuple[Figure, ...]] = ("loss", "bleu", "macro")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A figure of one system with one kind of context."""

    system: str
    context: ContextKind
    figure: Figure
    value: float


def outcomes_of(results: Sequence[Result]) -> list[Outcome]:
    """Every figure of every result; of several sizes of context the largest.

    Raises:
        PictureError: there is one kind of context only, or none of these figures, so there is nothing to compare.
    """
    largest: dict[tuple[str, ContextKind], Result] = {}
    for result in sorted(results, key=lambda each: each.context_sentences):
        largest[result.model, result.context] = result
    if len({context for _, context in largest}) < 2:
        raise PictureError("context-kinds needs results with at least two kinds of context")
    kept = [result for result in results if largest[result.model, result.context] is result]
    outcomes = [
        Outcome(result.model, result.context, figure, value)
        for result in kept
        for figure in FIGURES
        if (value := getattr(result, figure)) is not None
    ]
    if not outcomes:
        raise PictureError("context-kinds needs the loss, BLEU or the mean accuracy of the classes")
    return outcomes
