"""Reading the JSON that `evaluate` and `contrast` write with --json, for tables and pictures."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from models.data.replacement import ContextKind
from models.errors import DataError


class Result(BaseModel):
    """Figures of a model with one kind of context; None if not measured."""

    model_config = ConfigDict(frozen=True)

    model: str
    context: ContextKind
    context_sentences: int
    loss: float | None = None
    """Cross-entropy of the references, in nats per token."""
    bleu: float | None = None
    chrf: float | None = None
    document_bleu: float | None = None
    tokens_per_second: float | None = None
    accuracy: float | None = None
    """On a contrastive set, between 0 and 1."""
    macro: float | None = None
    """Mean of the accuracies of the set's classes."""


FIGURES: Final = tuple(name for name in Result.model_fields if name not in ("model", "context", "context_sentences"))


def read_results(files: Sequence[Path]) -> list[Result]:
    """Read results from files, in their order; those of the same model with the same context are merged into one.

    Raises:
        DataError: a file holds something else, or two files hold the same figure.
    """
    found: dict[tuple[str, ContextKind, int], dict[str, float]] = {}
    for file in files:
        result = _read(file)
        figures = found.setdefault((result.model, result.context, result.context_sentences), {})
        for name in FIGURES:
            value = getattr(result, name)
            if value is not None and name in figures:
                raise DataError(
                    f"{name} of {result.model} with {result.context} context ({result.context_sentences} sentences)"
                    " occurs twice",
                    file,
                )
            if value is not None:
                figures[name] = value
    return [
        Result(model=model, context=context, context_sentences=size, **figures)
        for (model, context, size), figures in found.items()
    ]


def _read(file: Path) -> Result:
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        result = Result.model_validate(written)
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"is not a file that evaluate or contrast wrote with --json: {reason}", file) from None
    if written.get("own"):
        raise DataError(
            "is from contrast --own, and cannot stand beside results judged after the set's own translations", file
        )
    if all(getattr(result, name) is None for name in FIGURES):
        raise DataError("has no figures of evaluate or contrast", file)
    return result
