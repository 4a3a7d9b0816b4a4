"""Layer norm, and the frame of a sub-layer: a norm before or after it, and the residual connection."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.kernels.compiled import compiled, part
from models.kernels.reductions import squared_deviations, total
from models.kernels.views import copy, tail

BARE: Final = 0
PRE: Final = 1
POST: Final = 2

Norm = tuple[NDArray[np.float32], NDArray[np.float32], np.float32]
"""Weight (D,), bias (D,), and the epsilon that is added to a variance."""
Frame = tuple[int, NDArray[np.float32], NDArray[np.float32], np.float32]
"""What surrounds a sub-layer: nothing (`BARE`), or a residual connection with a norm before it or after it."""

_NOTHING: Final = np.empty(0, np.float32)
NO_FRAME: Final[Frame] = BARE, _NOTHING, _NOTHING, np.float32(0)


@part
def rows_of(x):
    """Return vectors (..., D) as rows (R, D)."""
    return x.reshape(-1, x.shape[-1])


@part
def norm_rows(x, weight, bias, epsilon, result):
    """Put the layer norm of rows (R, D) into `result`, which may be the rows themselves."""
    width = x.shape[1]
    normed = np.empty(width, np.float32)  # LLVM computes one by one what is put in the place of what is read
    for r in range(len(x)):
        row = tail(x, r * width)
        mean = total(row, width) / np.float32(width)
        scale = np.float32(1) / np.sqrt(squared_deviations(row, width, mean) / np.float32(width) + epsilon)
        for i in range(width):
            normed[i] = (row[i] - mean) * scale * weight[i] + bias[i]
        copy(normed, width, tail(result, r * width))


@part
def enter(x, frame):
    """Return what a sub-layer in a frame reads, given rows x (R, D)."""
    order, weight, bias, epsilon = frame
    if order != PRE:
        return x
    normed = np.empty(x.shape, np.float32)
    norm_rows(x, weight, bias, epsilon, normed)
    return normed


@part
def leave(x, frame, result):
    """Turn a sub-layer's output, in `result`, into the output of its frame."""
    if frame[0] == BARE:
        return
    for r in range(len(x)):
        for i in range(x.shape[1]):
            result[r, i] += x[r, i]
    close(frame, result)


@part
def close(frame, result):
    """Apply a frame's norm to `result`, the sum of stream and sub-layer, if the norm comes after it."""
    order, weight, bias, epsilon = frame
    if order == POST:
        norm_rows(result, weight, bias, epsilon, result)


def _norm(x, weight, bias, epsilon, result):
    norm_rows(rows_of(x), weight, bias, epsilon, rows_of(result))


norm: Final = compiled(_norm)
