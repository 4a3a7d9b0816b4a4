"""Sentences of a batch without their padding: a sub-layer computes the words that there are, side by side."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.kernels.compiled import part
from models.kernels.views import copy, tail

ALL_REAL: Final[NDArray[np.bool_]] = np.empty((0, 0), np.bool_)
"""In place of a mask: nothing is padding."""


@part
def find(real):
    """Where words are, given a mask (B, S) that is true where one is.

    Returns:
        Of each sentence how many words it has, (B,), and of each word in which row of the batch it stands; both empty,
        if nothing is padding, or all of it, which nobody reads.
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
    """The rows (R, D) that are words, side by side (X, D); all of them, as they are, if nothing is padding."""
    if not len(places):
        return rows
    gathered = np.empty((len(places), rows.shape[1]), np.float32)
    for r in range(len(places)):
        copy(tail(rows, places[r] * rows.shape[1]), rows.shape[1], tail(gathered, r * rows.shape[1]))
    return gathered


@part
def room(rows, places):
    """Where what is computed of words is put until it is scattered: in place, if nothing is padding."""
    return np.empty((len(places), rows.shape[1]), np.float32) if len(places) else rows


@part
def scatter(found, places, rows):
    """Put what is in the `room` where it belongs, and nought into the padding."""
    if not len(places):
        return
    rows[:] = 0
    for r in range(len(places)):
        copy(tail(found, r * rows.shape[1]), rows.shape[1], tail(rows, places[r] * rows.shape[1]))
