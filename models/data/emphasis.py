"""Weights of sentences in training: sentences that benefit from context weigh more."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.config import EmphasisConfig
from models.data.documents import read_lines
from models.data.whole import write_whole
from models.errors import DataError


def write_gains(file: Path, gains: Sequence[Sequence[float]]) -> None:
    """Write a number per sentence, line-aligned with the corpus: an empty line ends a document."""
    lines = ["\n".join(f"{gain:.4f}" for gain in document) for document in gains]
    write_whole(file, [("\n\n".join(lines) + "\n").encode()])


def sentence_weights(config: EmphasisConfig, sentences: int) -> NDArray[np.float32]:
    """Return the weight of each sentence of a corpus: 1 where context does not help, then up to `config.most`.

    Args:
        config: file of the gains, and their effect.
        sentences: number of sentences in the corpus.

    Raises:
        DataError: the file is missing or damaged, or has another number of sentences.
    """
    gains = [_number(config.gains, line, raw) for line, raw in enumerate(read_lines(config.gains), 1) if raw.strip()]
    if len(gains) != sentences:
        raise DataError(f"has {len(gains)} numbers, but the corpus has {sentences} sentences", config.gains)
    found: NDArray[np.float32] = np.minimum(config.most, 1 + config.strength * np.maximum(0, gains)).astype(np.float32)
    return found


def _number(path: Path, line: int, raw: bytes) -> float:
    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise DataError("is not a number", path, line)
    return value
