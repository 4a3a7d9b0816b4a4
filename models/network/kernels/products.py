"""What `Int8Linear` computes: rows are brought to integers, multiplied with integers, and get their size back.

A row gives the same alone and among others, to the bit: the sums are of integers, and what is done in floats is done
in one order.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np
from numba import njit

from models.network.kernels.compiled import EXACT, compiled
from models.network.kernels.dots import PANELS, dots, lanes
from models.network.kernels.machine import LEVELS, VNNI

NOUGHT: Final = LEVELS + 1
"""The integer that stands for nought: bytes have no sign."""
BLOCK: Final = 64
"""Rows of which the integers stay close to the processor."""
_ROWS: Final = 4 if VNNI else 3
"""Rows at once: as many as leave their sums, four panels wide, in registers."""
_COLUMNS: Final = PANELS * lanes(vnni=VNNI)
_LEVELS: Final = np.float32(LEVELS)
_SMALLEST: Final = np.float32(1e-30)
"""A row without a larger element counts as zeros: what it would have to be multiplied by may be no number."""
_dots_of_rows: Final = dots(_ROWS, vnni=VNNI)
_dots_of_two: Final = dots(2, vnni=VNNI)
_dots_of_one: Final = dots(1, vnni=VNNI)
_part: Final = njit(inline="always", **EXACT)


@njit(**EXACT)
def product(x, layer, result):
    """Put x W^T + b into `result` (R, O).

    Args:
        x: (R, I).
        layer: W in int8 as `dots.in_panels` gives it; what `NOUGHT` adds to the sums of each row; the scales (O,); b
            (O,).
        result: (R, O).
    """
    weight, excess, scales, bias = layer
    most = min(BLOCK, len(x))
    whole, units = np.empty((most, 4 * weight.shape[1]), np.uint8), np.empty(most, np.float32)
    sums = np.empty((most, _COLUMNS), np.int32)
    for top in range(0, len(x), BLOCK):
        rows = min(BLOCK, len(x) - top)
        for r in range(rows):
            units[r] = _round(x[top + r], whole[r])
        for left in range(0, result.shape[1], _COLUMNS):
            right = min(left + _COLUMNS, result.shape[1])
            _multiply_panels(whole, weight, sums, rows, left // _COLUMNS * PANELS)
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
def _multiply_panels(whole, weight, sums, rows, panel):
    r = 0
    while r + _ROWS <= rows:
        _dots_of_rows(whole, weight, sums, r, panel)
        r += _ROWS
    if r + 2 <= rows:
        _dots_of_two(whole, weight, sums, r, panel)
        r += 2
    if r < rows:
        _dots_of_one(whole, weight, sums, r, panel)


@_part
def _round(row, whole):
    """Bring a row to integers; gives what a one stands for."""
    factor, unit = _scale(row)
    for i in range(len(row)):
        whole[i] = np.uint8(np.int32(np.rint(row[i] * factor)) + np.int32(NOUGHT))
    for i in range(len(row), len(whole)):
        whole[i] = 0
    return unit


def _multiply(x, layer, result):
    product(x, layer, result)


@_part
def _scale(row):
    """What a row is multiplied by, and its inverse; found by bits, in which "no number" is larger than any."""
    bits = row.view(np.int32)
    largest = np.int32(0)
    for i in range(len(bits)):
        largest = max(largest, np.int32(bits[i] & np.int32(0x7FFFFFFF)))
    found = np.array([largest], np.int32).view(np.float32)[0]
    if found < _SMALLEST:
        return np.float32(0), np.float32(0)
    return _LEVELS / found, found / _LEVELS


multiply: Final = compiled(_multiply, **EXACT)
