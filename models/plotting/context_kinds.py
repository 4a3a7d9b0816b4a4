"""How the kind of context affects each system: figures with the real context, with a replaced one, and with none."""

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
    """Return every figure of every result; where there are several sizes of context, of the largest one.

    Raises:
        PictureError: there is only one kind of context, or none of these figures, so there is nothing to compare.
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
