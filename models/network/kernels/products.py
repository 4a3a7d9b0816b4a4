"""What `Int8Linear` computes: rows are brought to integers, multiplied with integers, and get their size back.

For few rows all of it is done here in one call; for many, FBGEMM, which costs 20 microseconds before it begins, has
the faster product. Either way gives the same, to the bit: the sums are of integers, and what is done in floats is done
in one order.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numba import njit

from models.network.kernels.compiled import EXACT, compiled
from models.network.kernels.dots import dots

COLUMNS: Final = 4
"""Of these many columns of a result at once; weights are filled up with zeros to a multiple of it."""
_ROWS: Final = 2
_SMALLEST: Final = np.float32(1e-30)
"""A row without a larger element counts as zeros: what it would have to be multiplied by may be no number."""
_dots_of_rows: Final = dots(_ROWS, COLUMNS)
_dots_of_row: Final = dots(1, COLUMNS)
_part: Final = njit(inline="always", **EXACT)


@njit(**EXACT)
def product(x, levels, layer, result):
    """Put x W^T + b into `result` (R, O).

    Args:
        x: (R, I).
        levels: the largest integer of a row.
        layer: W in int8, filled up with zeros to multiples of `COLUMNS` and `dots.STEP`; its scales (O,); b (O,).
        result: (R, O).
    """
    weight, scales, bias = layer
    rows, length = len(x), weight.shape[1]
    whole, units = np.zeros((rows, length), np.int16), np.empty(rows, np.float32)
    for r in range(rows):
        factor, units[r] = _scale(x[r], levels)
        for i in range(x.shape[1]):
            whole[r, i] = np.int16(np.rint(x[r, i] * factor))
    sums = np.empty((rows, len(weight)), np.int32)
    for j in range(0, len(weight), COLUMNS):
        for r in range(0, rows - _ROWS + 1, _ROWS):
            _dots_of_rows(whole, weight, sums, r, j)
        if rows % _ROWS:
            _dots_of_row(whole, weight, sums, rows - 1, j)
    for r in range(rows):
        for j in range(result.shape[1]):
            result[r, j] = np.float32(sums[r, j]) * scales[j]
        _scale_back(result[r], units[r], bias)


def _multiply(x, levels, layer, result):
    product(x, levels, layer, result)


def _round_rows(x, levels, whole, units):
    """Bring each row of x (R, I) to integers of at most `levels`, as floats; `units` (R,) is what a one stands for."""
    for r in range(len(x)):
        factor, units[r] = _scale(x[r], levels)
        for i in range(x.shape[1]):
            whole[r, i] = np.rint(x[r, i] * factor)


def _finish(result, units, bias):
    """Give the products of `_round_rows` (R, O) their size, and add the bias."""
    for r in range(len(result)):
        _scale_back(result[r], units[r], bias)


@_part
def _scale(row, levels):
    """What a row is multiplied by, and its inverse; found by bits, in which "no number" is larger than any."""
    bits = row.view(np.int32)
    largest = np.int32(0)
    for i in range(len(bits)):
        largest = max(largest, bits[i] & np.int32(0x7FFFFFFF))
    found = np.array([largest], np.int32).view(np.float32)[0]
    if found < _SMALLEST:
        return np.float32(0), np.float32(0)
    return levels / found, found / levels


@_part
def _scale_back(row, unit, bias):
    for j in range(len(row)):
        row[j] = row[j] * unit + bias[j]


multiply: Final = compiled(_multiply, **EXACT)
round_rows: Final = compiled(_round_rows, **EXACT)
finish: Final = compiled(_finish, **EXACT)
