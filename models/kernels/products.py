"""What `Int8Linear` computes: rows are quantized, multiplied as integers, and scaled back to floats.

A row gives the same bits alone and in a batch: the sums are of integers, and float operations have a fixed order.
"""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202 - what Numba compiles has the types that it is called with

from typing import Final

import numpy as np

from models.kernels.activations import NONE, activate
from models.kernels.compiled import compiled, inlined, part
from models.kernels.dots import LINE, PANELS, dots, lanes
from models.kernels.machine import LEVELS, TILES, VNNI
from models.kernels.tiles import ROWS, product_of_tiles
from models.kernels.views import copy, tail

NOUGHT: Final = LEVELS + 1
"""The integer that stands for zero: bytes are unsigned."""
_BLOCK: Final = 64
"""Rows that are quantized together: their integers stay in the cache."""
_LARGE_BLOCK: Final = 256
"""The same for a large layer, whose weights do not: they come from afar for each block."""
_LARGE: Final = 2**20
"""A layer with more weights is large: a core's second-level cache has one or two MB."""
_ROWS: Final = 4 if VNNI else 3
"""Rows at once: as many as can keep their sums, four panels wide, in registers."""
_LANES: Final = lanes(vnni=VNNI)
_COLUMNS: Final = PANELS * _LANES
_LEVELS: Final = np.float32(LEVELS)
_SMALLEST: Final = np.float32(1e-30)
"""A row without a larger element counts as zeros: its scaling factor might not be finite."""
_MOST_BY_VECTORS: Final = 2
"""The most rows that are multiplied by vectors instead: a tile takes as long for few rows as for all."""
_dots_of_rows: Final = dots(_ROWS, vnni=VNNI)
_dots_of_two: Final = dots(2, vnni=VNNI)
_dots_of_one: Final = dots(1, vnni=VNNI)


@inlined
def _by_vectors(whole, units, layer, result, rows, first, panels):
    """Put the products of the first rows with some panels, as of `tiles.product_of_tiles`, in `result`."""
    for n in range(0, panels, PANELS):
        panel, column = first + n, n * _LANES
        r = 0
        while r + _ROWS <= rows:
            _dots_of_rows(whole, units, layer, result, r, panel, column)
            r += _ROWS
        if r + 2 <= rows:
            _dots_of_two(whole, units, layer, result, r, panel, column)
            r += 2
        if r < rows:
            _dots_of_one(whole, units, layer, result, r, panel, column)


@inlined
def _by_tiles(whole, units, layer, result, rows, first, panels):
    if rows <= _MOST_BY_VECTORS:
        _by_vectors(whole, units, layer, result, rows, first, panels)
    else:
        product_of_tiles(whole, units, layer, result, rows, first, panels)


_multiply_panels: Final = _by_tiles if TILES else _by_vectors


@inlined
def block(layer):
    """Return how many rows of a layer are quantized together; what is done block by block stays in the cache, too."""
    return _LARGE_BLOCK if layer[0].size > _LARGE else _BLOCK


@part
def product(x, layer, result, activation):
    """Put f(x) W^T + b into `result` (R, O).

    Args:
        x: (R, I).
        layer: W in int8 as `dots.in_panels` returns it; where the sum of each output starts, which is less than zero by
            what `NOUGHT` adds to it, the scales, and b, each with one entry for every output of all panels; O.
        result: (R, O).
        activation: f, one of `activations`; it replaces x, row by row.
    """
    size = block(layer)
    most = min(size, -(-len(x) // ROWS) * ROWS)  # a tile reads all its rows, however few are used
    width, long, outputs = x.shape[1], 4 * layer[0].shape[1], result.shape[1]
    room, units = np.empty(most * long + LINE, np.uint8), np.empty(most, np.float32)
    first = -room.ctypes.data % LINE
    whole = room[first : first + most * long].reshape(most, long)  # anything beyond `width` meets zero weights
    edge_at = outputs // _COLUMNS * _COLUMNS
    edge = np.empty((most if edge_at < outputs else 0, _COLUMNS), np.float32)
    for top in range(0, len(x), size):
        rows, there = min(size, len(x) - top), result[top:]
        for r in range(rows):
            row = tail(x, (top + r) * width)
            activate(row, width, activation)
            _round(row, width, tail(whole, r * long), tail(units, r))
        _multiply_panels(whole, units, layer, there, rows, 0, edge_at // _LANES)
        if edge_at < outputs:
            _multiply_panels(whole, units, layer, edge, rows, edge_at // _LANES, PANELS)
            for r in range(rows):
                copy(edge[r], outputs - edge_at, there[r, edge_at:])


@inlined
def _round(row, count, whole, unit):
    """Quantize the first `count` numbers of a row; set `unit` (1,) to what the integer 1 stands for."""
    factor = _scale(row, count, unit)
    for i in range(count):
        whole[i] = np.uint8(np.int32(np.rint(row[i] * factor)) + np.int32(NOUGHT))


@inlined
def _scale(row, count, unit):
    """Return the factor of a row, and put its inverse in `unit`; bits are compared, so that NaN is the largest."""
    bits, largest = row.view(np.int32), np.int32(0)
    for i in range(count):
        largest = max(largest, np.int32(bits[i] & np.int32(0x7FFFFFFF)))
    unit.view(np.int32)[0] = largest
    found = unit[0]
    if found < _SMALLEST:
        unit[0] = 0
        return np.float32(0)
    unit[0] = found / _LEVELS
    return _LEVELS / found


def _multiply(x, layer, result):
    product(x, layer, result, NONE)


multiply: Final = compiled(_multiply)
