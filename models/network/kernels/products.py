"""What `Int8Linear` computes: rows are brought to integers, multiplied with integers, and get their size back.

Where FBGEMM has better instructions than we, and rows are many enough to be worth its 20 microseconds before it begins,
the product is FBGEMM's. Either way gives the same, to the bit: the sums are of integers, and what is done in floats is
done in one order.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numba import njit

from models.network.kernels.compiled import EXACT, compiled
from models.network.kernels.dots import COLUMNS, dots
from models.network.kernels.machine import LEVELS, has_vnni

_ROWS: Final = 2
BLOCK: Final = 64
"""Rows and columns of which the integers stay close to the processor."""
_SMALLEST: Final = np.float32(1e-30)
"""A row without a larger element counts as zeros: what it would have to be multiplied by may be no number."""
_IN_BYTES: Final = not has_vnni()
_INTEGER: Final = np.uint8 if _IN_BYTES else np.int16
NOUGHT: Final = 64 if _IN_BYTES else 0
"""The integer that stands for nought: bytes have no sign."""
_dots_of_rows: Final = dots(_ROWS, in_bytes=_IN_BYTES)
_dots_of_row: Final = dots(1, in_bytes=_IN_BYTES)
_part: Final = njit(inline="always", **EXACT)


@njit(**EXACT)
def product(x, layer, result):
    """Put x W^T + b into `result` (R, O).

    Args:
        x: (R, I).
        layer: W in int8, filled up with zeros to multiples of `dots.COLUMNS` and `dots.STEP`; what `NOUGHT` adds to the
            sums of each row; the scales (O,); b (O,).
        result: (R, O).
    """
    weight, excess, scales, bias = layer
    whole, units = np.empty((BLOCK, weight.shape[1]), _INTEGER), np.empty(BLOCK, np.float32)
    sums = np.empty((BLOCK, BLOCK), np.int32)
    for top in range(0, len(x), BLOCK):
        rows = min(BLOCK, len(x) - top)
        for r in range(rows):
            units[r] = _round(x[top + r], whole[r])
        for left in range(0, len(weight), BLOCK):
            right = min(left + BLOCK, result.shape[1])
            _multiply_block(whole, weight[left : left + BLOCK], sums, rows)
            for r in range(rows):
                _finish_row(
                    sums[r],
                    excess[left:right],
                    scales[left:right],
                    units[r],
                    bias[left:right],
                    result[top + r, left:right],
                )


@_part
def _finish_row(sums, excess, scales, unit, bias, result):
    """Give sums their size; a difference that Numba left in 64 bits would be made a float one by one."""
    for j in range(len(result)):
        result[j] = np.float32(np.int32(sums[j] - excess[j])) * scales[j] * unit + bias[j]


@_part
def _multiply_block(whole, weight, sums, rows):
    for j in range(0, len(weight), COLUMNS):
        for r in range(0, rows - _ROWS + 1, _ROWS):
            _dots_of_rows(whole, weight, sums, r, j)
        if rows % _ROWS:
            _dots_of_row(whole, weight, sums, rows - 1, j)


@_part
def _round(row, whole):
    """Bring a row to integers; gives what a one stands for."""
    factor, unit = _scale(row)
    for i in range(len(row)):
        whole[i] = _INTEGER(np.int32(np.rint(row[i] * factor)) + np.int32(NOUGHT))
    for i in range(len(row), len(whole)):
        whole[i] = 0
    return unit


def _multiply(x, layer, result):
    product(x, layer, result)


def _round_rows(x, whole, units):
    """Bring each row of x (R, I) to integers, as floats; `units` (R,) is what a one stands for."""
    for r in range(len(x)):
        factor, units[r] = _scale(x[r])
        for i in range(x.shape[1]):
            whole[r, i] = np.rint(x[r, i] * factor)


def _finish(result, units, bias):
    """Give the products of `_round_rows` (R, O) their size, and add the bias."""
    for r in range(len(result)):
        for j in range(result.shape[1]):
            result[r, j] = result[r, j] * units[r] + bias[j]


@_part
def _scale(row):
    """What a row is multiplied by, and its inverse; found by bits, in which "no number" is larger than any."""
    bits = row.view(np.int32)
    largest = np.int32(0)
    for i in range(len(bits)):
        largest = max(largest, bits[i] & np.int32(0x7FFFFFFF))
    found = np.array([largest], np.int32).view(np.float32)[0]
    if found < _SMALLEST:
        return np.float32(0), np.float32(0)
    return LEVELS / found, found / LEVELS


multiply: Final = compiled(_multiply, **EXACT)
round_rows: Final = compiled(_round_rows, **EXACT)
finish: Final = compiled(_finish, **EXACT)
