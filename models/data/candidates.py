"""Translations of training sentences that a model has found, and how good each of them is: what `training.risk` reads.

A file is line-aligned with the corpus: a JSON list of [translation, gain] for each sentence, empty for those that have
none, and an empty line after each document.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from models.data.documents import read_lines
from models.data.whole import write_whole
from models.errors import DataError


@dataclass(frozen=True, slots=True)
class Candidate:
    """A translation of a sentence."""

    text: str
    gain: float
    """How good it is, from 0 to 1."""


_LINE = TypeAdapter(list[tuple[str, Annotated[float, Field(ge=0, le=1)]]])


def write_candidates(file: Path, candidates: Sequence[Sequence[Sequence[Candidate]]]) -> None:
    """Write the candidates of each sentence of each document."""
    documents = (b"\n".join(map(_line, document)) for document in candidates)
    write_whole(file, [b"\n\n".join(documents), b"\n"])


def read_candidates(file: Path, sentences: int) -> list[list[Candidate]]:
    """Read the candidates of each sentence of a corpus.

    Args:
        file: that `write_candidates` wrote.
        sentences: that the corpus has.

    Raises:
        DataError: the file is missing or damaged, or has another number of sentences.
    """
    found = [_parse(file, number, line) for number, line in enumerate(read_lines(file), 1) if line.strip()]
    if len(found) != sentences:
        raise DataError(f"has candidates of {len(found)} sentences, but the corpus has {sentences}", file)
    return found


def spread(candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """So many of the candidates, evenly spread from the worst to the best, worst first."""
    ranked = sorted(candidates, key=lambda each: each.gain)
    if len(ranked) <= most:
        return ranked
    return [ranked[round(place * (len(ranked) - 1) / (most - 1))] for place in range(most)]


def _line(candidates: Sequence[Candidate]) -> bytes:
    return _LINE.dump_json([(each.text, round(each.gain, 4)) for each in candidates])


def _parse(file: Path, number: int, line: bytes) -> list[Candidate]:
    try:
        return [Candidate(text, gain) for text, gain in _LINE.validate_json(line)]
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise DataError(f"is no list of translations and their gains: {reason}", file, number) from None
