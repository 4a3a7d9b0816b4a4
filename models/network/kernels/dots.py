"""Products of 8-bit integers, summed: written for LLVM directly, with the instructions that CPUs have for them.

Such an instruction adds four neighbouring products in each of its lanes. So a matrix of weights lies in panels: a panel
has as many outputs as there are lanes, and of each the next four weights side by side. Four numbers of an input go to
all lanes, every lane sums an output of its own, and what has been read serves several inputs and panels.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

PANELS: Final = 4
"""Panels at once, and what the number of a matrix's panels is a multiple of."""
_FOUR: Final = 4
_BYTE, _HALF, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def lanes(*, vnni: bool) -> int:
    """Sums of 32 bits in a register: of AVX-512, or of AVX2."""
    return 16 if vnni else 8


def in_panels(weight: NDArray[np.int8], *, vnni: bool) -> NDArray[np.int8]:
    """A matrix as `dots` takes it, filled up with zeros.

    Args:
        weight: (O, I).
        vnni: as in `dots`.

    Returns:
        (P, I / 4, lanes, 4), P a multiple of `PANELS`.
    """
    width = lanes(vnni=vnni)
    filled = np.pad(weight, [(0, -len(weight) % (PANELS * width)), (0, -weight.shape[1] % _FOUR)])
    panels = filled.reshape(len(filled) // width, width, -1, _FOUR).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(panels)


def dots(rows: int, *, vnni: bool) -> Any:
    """An operation for Numba's functions: some rows of x times `PANELS` panels of w.

    Its arguments are x (R, I) in uint8 and w as `in_panels` gives it, sums (R, PANELS x lanes) in int32, in one piece
    each, the first row and the first panel; the rows of `sums` are those of x.

    Args:
        rows: of x.
        vnni: by the instruction of AVX-512 that adds four products in 32 bits; else by those of AVX2, which add two
            in 16 bits first, so that x has to be below 128.
    """
    width = lanes(vnni=vnni)

    @intrinsic
    def operation(_typing: object, x: Any, w: Any, sums: Any, row: Any, panel: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
            ]
            first = [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in (3, 4)]
            _generate(builder, arrays, first, rows, width)
            return context.get_dummy_value()

        return types.void(x, w, sums, row, panel), generate

    return operation


def _generate(builder: ir.IRBuilder, arrays: Any, first: Any, rows: int, width: int) -> None:
    x, w, sums = arrays
    lane_sums, lane_bytes = ir.VectorType(_WHOLE, width), ir.VectorType(_BYTE, _FOUR * width)
    fours = cgutils.unpack_tuple(builder, w.shape)[1]
    inputs = _rows_of(builder, x.data, _WHOLE, first[0], fours, rows)
    weights = _rows_of(builder, w.data, lane_bytes, first[1], fours, PANELS)
    results = _rows_of(builder, sums.data, lane_sums, first[0], _place(PANELS), rows)
    totals = [[cgutils.alloca_once(builder, lane_sums) for _ in range(PANELS)] for _ in range(rows)]
    for total in (each for row in totals for each in row):
        builder.store(ir.Constant(lane_sums, [0] * width), total)
    with cgutils.for_range(builder, fours, intp=_PLACE) as loop:
        others = [builder.load(builder.gep(panel, [loop.index]), align=1) for panel in weights]
        for given, row in zip(inputs, totals, strict=True):
            four = _to_all_lanes(builder, builder.load(builder.gep(given, [loop.index]), align=1), lane_bytes)
            for other, total in zip(others, row, strict=True):
                builder.store(_add_products(builder, builder.load(total), four, other), total)
    for result, row in zip(results, totals, strict=True):
        for n, total in enumerate(row):
            builder.store(builder.load(total), builder.gep(result, [_place(n)]), align=4)


def _rows_of(builder: ir.IRBuilder, data: Any, kind: Any, first: Any, length: Any, count: int) -> list[Any]:
    """Where so many rows of a matrix begin, of a length that is counted in what is read at once."""
    start = builder.bitcast(data, kind.as_pointer())
    return [builder.gep(start, [builder.mul(builder.add(first, _place(n)), length)]) for n in range(count)]


def _to_all_lanes(builder: ir.IRBuilder, four: Any, lane_bytes: Any) -> Any:
    width = lane_bytes.count // _FOUR
    vector = builder.insert_element(ir.Constant(ir.VectorType(_WHOLE, width), ir.Undefined), four, _whole(0))
    everywhere = ir.Constant(ir.VectorType(_WHOLE, width), [0] * width)
    return builder.bitcast(builder.shuffle_vector(vector, vector, everywhere), lane_bytes)


def _add_products(builder: ir.IRBuilder, total: Any, x: Any, w: Any) -> Any:
    """The total of each lane, and the four products of its bytes."""
    if total.type.count == lanes(vnni=True):
        return _call(builder, "llvm.x86.avx512.vpdpbusd.512", total.type, total, x, w)
    halves = ir.VectorType(_HALF, 2 * total.type.count)
    pairs = _call(builder, "llvm.x86.avx2.pmadd.ub.sw", halves, x, w)
    ones = ir.Constant(halves, [1] * halves.count)
    return builder.add(total, _call(builder, "llvm.x86.avx2.pmadd.wd", total.type, pairs, ones))


def _call(builder: ir.IRBuilder, name: str, result: Any, *arguments: Any) -> Any:
    kind = ir.FunctionType(result, [each.type for each in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _whole(number: int) -> Any:
    return ir.Constant(_WHOLE, number)


def _place(number: int) -> Any:
    return ir.Constant(_PLACE, number)
