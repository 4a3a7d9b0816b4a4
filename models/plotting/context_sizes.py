"""BLEU and accuracy against the number of context sentences, from what `evaluate` and `contrast` wrote with --json."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from models.errors import PictureError

Figure = Literal["bleu", "accuracy"]
FIGURES: Final[tuple[Figure, ...]] = ("bleu", "accuracy")


class _Result(BaseModel):
    """What is read of such a file."""

    model_config = ConfigDict(frozen=True)

    model: str
    context: str
    context_sentences: int
    bleu: float | None = None
    accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A figure of one system: BLEU between 0 and 100, accuracy between 0 and 1."""

    system: str
    figure: Figure
    sentences: list[int]
    values: list[float]


def read_series(files: Sequence[Path]) -> list[Series]:
    """A series for each system and each figure that the files hold, in their order.

    Raises:
        PictureError: a file holds something else, or two say the same of one system.
    """
    points: dict[tuple[str, Figure], dict[int, float]] = {}
    for file in files:
        result = _read(file)
        system = result.model if result.context in ("real", "empty") else f"{result.model}, {result.context} context"
        for figure in FIGURES:
            value = getattr(result, figure)
            if value is None:
                continue
            known = points.setdefault((system, figure), {})
            if result.context_sentences in known:
                raise PictureError(
                    f"{file}: {figure} of {system} with {result.context_sentences} sentences is there twice"
                )
            known[result.context_sentences] = value
    return [Series(*key, sorted(known), [known[n] for n in sorted(known)]) for key, known in points.items()]


def _read(file: Path) -> _Result:
    try:
        result = _Result.model_validate(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise PictureError(f"{file}: is not what evaluate or contrast write with --json: {reason}") from None
    if all(getattr(result, figure) is None for figure in FIGURES):
        raise PictureError(f"{file}: has neither bleu nor accuracy")
    return result
