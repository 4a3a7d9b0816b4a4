"""Sentences of a batch without their padding: a sub-layer computes only real words, side by side."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.kernels.compiled import part
from models.kernels.views import clear, copy, tail

ALL_REAL: Final[NDArray[np.bool_]] = np.empty((0, 0), np.bool_)
"""Passed in place of a mask if nothing is padding."""


@part
def find(real):
    """Find the words, given a mask (B, S) that is true where there is one.

    Returns:
        The number of words of each sentence, (B,), and the row of each word among the batch's (B x S). Both are empty
        if nothing is padding, or if everything is, since the result is then never used.
    """
    counts = np.empty(len(real), np.int64)
    total = 0
    for b in range(len(real)):
        counts[b] = real[b].sum()
        total += counts[b]
    if total in (0, real.size):
        return counts[:0], counts[:0]
    places = np.empty(total, np.int64)
    at = 0
    for b in range(len(real)):
        for s in range(real.shape[1]):
            if real[b, s]:
                places[at] = b * real.shape[1] + s
                at += 1
    return counts, places


@part
def gather(rows, places):
    """Return the rows (R, D) that are words, side by side (X, D); the rows themselves if nothing is padding."""
    if not len(places):
        return rows
    gathered = np.empty((len(places), rows.shape[1]), np.float32)
    for r in range(len(places)):
        copy(tail(rows, places[r] * rows.shape[1]), rows.shape[1], tail(gathered, r * rows.shape[1]))
    return gathered


@part
def room(rows, places):
    """Return an array for the words' results until they are scattered: the rows themselves if nothing is padding."""
    return np.empty((len(places), rows.shape[1]), np.float32) if len(places) else rows


@part
def scatter(found, places, rows):
    """Move results from the `room` to their rows, and fill the padding with zeros."""
    if not len(places):
        return
    width, moved = rows.shape[1], 0
    for r in range(len(rows)):
        if moved < len(places) and places[moved] == r:
            copy(tail(found, moved * width), width, tail(rows, r * width))
            moved += 1
        else:
            clear(tail(rows, r * width), width)
