"""What `Int8Linear` does around FBGEMM's product, and, for few rows, the product too: one call in place of six.

FBGEMM has the faster product, but costs 20 microseconds before it begins, and torch a few for each step around it; a
row times a matrix of 256 x 256 takes three. Either way gives the same, to the bit: the sums are of integers, and what
is done in floats is done in one order, by the same code, without leave to regroup it.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202 - what Numba compiles has the types that it is called with

from typing import Any, Final

import numpy as np
from numba import njit

from models.network.compiled import compiled

_SMALLEST: Final = np.float32(1e-30)
"""A row without a larger element counts as zeros: what it would have to be multiplied by may be no number."""
_EXACT: Final[dict[str, Any]] = {"error_model": "numpy"}
_part: Final = njit(inline="always", **_EXACT)


def _multiply(x, levels, weight, scales, bias, result):
    """Put x W^T + b into `result` (R, O); x is (R, I), W (O, I) in int8 with `scales` (O,), b (O,)."""
    whole = np.empty(x.shape[1], np.int16)
    for r in range(len(x)):
        factor, unit = _scale(x[r], levels)
        for i in range(len(whole)):
            whole[i] = np.int16(np.rint(x[r, i] * factor))
        for j in range(len(weight)):
            total = np.int32(0)
            for i in range(len(whole)):
                total = np.int32(total + np.int32(np.int32(whole[i]) * np.int32(weight[j, i])))
            result[r, j] = np.float32(total) * scales[j]
        _scale_back(result[r], unit, bias)


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


multiply: Final = compiled(_multiply, **_EXACT)
round_rows: Final = compiled(_round_rows, **_EXACT)
finish: Final = compiled(_finish, **_EXACT)
