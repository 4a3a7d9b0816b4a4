"""Sums of products of 8-bit integers, written for LLVM directly, with the instructions that CPUs have for them.

Such an instruction adds four neighbouring products in each of its lanes. So a weight matrix is stored in panels, which
have as many outputs as there are lanes, and keep each output's next four weights side by side. Four numbers of an input
are copied to all lanes, every lane sums one output, and what has been read is used for several inputs and panels.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from models.kernels.vectors import broadcast, call_llvm, constant, fetch

PANELS: Final = 4
"""Panels that are multiplied at once; a matrix has a multiple of this number."""
DEEP: Final = 64
"""Numbers of an input in a row of a tile (`tiles`)."""
LINE: Final = 64
"""Bytes in a cache line."""
FOUR: Final = 4
"""Neighbouring products that an instruction adds."""
_BYTE, _HALF, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_FLOAT = ir.FloatType()


def lanes(*, vnni: bool) -> int:
    """Return how many 32-bit sums a register holds: of AVX-512, or else of AVX2."""
    return 16 if vnni else 8


def in_panels(weight: NDArray[np.int8], *, vnni: bool) -> NDArray[np.int8]:
    """Rearrange a matrix as `dots` takes it, padded with zeros.

    Args:
        weight: (O, I).
        vnni: as in `dots`.

    Returns:
        (P, I / 4, lanes, 4), P a multiple of `PANELS`; with `vnni`, I is padded to a multiple of `DEEP`. The array is
        aligned to a cache line: a product takes twice as long if each register is read from two lines.
    """
    width, long = lanes(vnni=vnni), DEEP if vnni else FOUR
    filled = np.pad(weight, [(0, -len(weight) % (PANELS * width)), (0, -weight.shape[1] % long)])
    panels = filled.reshape(len(filled) // width, width, -1, FOUR).transpose(0, 2, 1, 3)
    room = np.empty(panels.size + LINE, np.int8)
    first = -room.ctypes.data % LINE
    aligned = room[first : first + panels.size].reshape(panels.shape)
    aligned[:] = panels
    return aligned


def dots(rows: int, *, vnni: bool) -> Any:
    """Return an operation for Numba's functions: some rows of x times `PANELS` panels of w, scaled back to floats.

    It puts (start + x w) scale unit + bias into `result`. Its arguments:

    - x: (R, I) in uint8, with I padded as in w,
    - units: (R,) in float32,
    - layer: w as `in_panels` returns it; for all outputs of its panels, start in int32, and scales and bias in
      float32; further elements are not read,
    - result: (R, PANELS x lanes or more) in float32, of which PANELS x lanes columns are written,
    - the first row of x and of `result`, the first panel, and the first column of `result`.

    Args:
        rows: how many rows of x.
        vnni: use the instruction of AVX-512 that adds four products in 32 bits; else those of AVX2, which first add
            two in 16 bits, so that x must be below 128.
    """
    width = lanes(vnni=vnni)

    @intrinsic
    def operation(
        _typing: object, x: Any, units: Any, layer: Any, result: Any, row: Any, panel: Any, column: Any
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            (x, units, w, start, *of_outputs, result), (first, panel, column) = unpacked(
                context, builder, signature, arguments, 3
            )
            fours = cgutils.unpack_tuple(builder, w.shape)[1]
            starts, *outputs = (of_panels(builder, each, panel, PANELS, width) for each in (start, *of_outputs))
            totals = _sums(builder, x.data, w.data, (first, panel, fours), rows, starts)
            for m, of_row in enumerate(totals):
                sums = [builder.load(total) for total in of_row]
                dequantize(builder, sums, units, outputs, result, (builder.add(first, constant(m)), column))
            return context.get_dummy_value()

        return types.void(x, units, layer, result, row, panel, column), generate

    return operation


def unpacked(
    context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, count: int
) -> tuple[list[Any], list[Any]]:
    """Return the arrays that an operation is given, with the layer unpacked, and the next `count` numbers."""
    kinds = [*signature.args[:2], *signature.args[2].types[:4], signature.args[3]]
    values = [*arguments[:2], *cgutils.unpack_tuple(builder, arguments[2])[:4], arguments[3]]
    arrays = [context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, values, strict=True)]
    numbers = range(4, 4 + count)
    return arrays, [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in numbers]


def of_panels(builder: ir.IRBuilder, array: Any, panel: Any, count: int, width: int) -> list[Any]:
    """Load the numbers of an array for the outputs of `count` panels, from `panel` on: a vector for each."""
    kind = ir.VectorType(array.data.type.pointee, width)
    return [builder.load(each, align=4) for each in _from(builder, array.data, kind, panel, count)]


def dequantize(builder: ir.IRBuilder, sums: Sequence[Any], units: Any, outputs: Any, result: Any, place: Any) -> None:
    """Put sums scale unit + bias into a row of the result.

    Args:
        builder: of the function.
        sums: one vector for each panel.
        units: (R,).
        outputs: the scales and biases, each a vector for each panel.
        result: as for `dots`.
        place: the row, and the first column of the result.
    """
    row, column = place
    unit = broadcast(builder, builder.load(builder.gep(units.data, [row])), outputs[0][0].type)
    start = cgutils.pointer_add(
        builder, result.data, builder.mul(row, cgutils.unpack_tuple(builder, result.strides)[0])
    )
    to = _from(builder, builder.gep(start, [column]), unit.type, constant(0), len(sums))
    for sum_, scale, bias, there in zip(sums, *outputs, to, strict=True):
        sized = builder.fmul(builder.fmul(builder.sitofp(sum_, scale.type), scale), unit)
        builder.store(builder.fadd(sized, bias), there, align=4)


def _sums(builder: ir.IRBuilder, x: Any, w: Any, first: Any, rows: int, starts: Sequence[Any]) -> list[list[Any]]:
    """Build the sums for each row and panel; return where they are. `first` ends with an input's number of fours."""
    row, panel, fours = first
    lane_sums, lane_bytes = starts[0].type, ir.VectorType(_BYTE, FOUR * starts[0].type.count)
    inputs = [_from(builder, x, _WHOLE, builder.mul(builder.add(row, constant(m)), fours), 1)[0] for m in range(rows)]
    weights = [
        _from(builder, w, lane_bytes, builder.mul(builder.add(panel, constant(n)), fours), 1)[0] for n in range(PANELS)
    ]
    totals = [[cgutils.alloca_once(builder, lane_sums) for _ in range(PANELS)] for _ in range(rows)]
    for of_row in totals:
        for total, start in zip(of_row, starts, strict=True):
            builder.store(start, total)
    ahead = builder.mul(fours, constant(PANELS))
    with cgutils.for_range(builder, fours, intp=_PLACE) as loop:
        others = [builder.load(builder.gep(each, [loop.index]), align=1) for each in weights]
        for each in weights if rows > 1 else ():  # one row is done before the prefetch arrives
            fetch(builder, builder.gep(each, [builder.add(loop.index, ahead)]))
        for given, of_row in zip(inputs, totals, strict=True):
            four = broadcast(builder, builder.load(builder.gep(given, [loop.index]), align=1), lane_sums)
            for other, total in zip(others, of_row, strict=True):
                added = _add_products(builder, builder.load(total), builder.bitcast(four, lane_bytes), other)
                builder.store(added, total)
    return totals


def _from(builder: ir.IRBuilder, data: Any, kind: Any, first: Any, count: int) -> list[Any]:
    """Return the addresses of `count` consecutive values of a kind, from number `first` on."""
    start = builder.bitcast(data, kind.as_pointer())
    return [builder.gep(start, [builder.add(first, constant(n))]) for n in range(count)]


def _add_products(builder: ir.IRBuilder, total: Any, x: Any, w: Any) -> Any:
    """Add to the total of each lane the four products of its bytes."""
    if total.type.count == lanes(vnni=True):
        return call_llvm(builder, "x86.avx512.vpdpbusd.512", total.type, total, x, w)
    halves = ir.VectorType(_HALF, 2 * total.type.count)
    pairs = call_llvm(builder, "x86.avx2.pmadd.ub.sw", halves, x, w)
    ones = ir.Constant(halves, [1] * halves.count)
    return builder.add(total, call_llvm(builder, "x86.avx2.pmadd.wd", total.type, pairs, ones))
