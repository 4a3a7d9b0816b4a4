"""Products of 8-bit integers, summed: written for LLVM directly, with the instructions that CPUs have for them.

Such an instruction adds four neighbouring products in each of its lanes. So a matrix of weights lies in panels: a panel
has as many outputs as there are lanes, and of each the next four weights side by side. Four numbers of an input go to
all lanes, every lane sums an output of its own, and what has been read serves several inputs and panels.
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

from models.kernels.vectors import fetch

PANELS: Final = 4
"""Panels at once, and what the number of a matrix's panels is a multiple of."""
DEEP: Final = 64
"""Numbers of an input in a tile (`tiles`), which are read together."""
LINE: Final = 64
"""Bytes of a line of the processor's cache."""
FOUR: Final = 4
"""Neighbouring products that an instruction adds."""
_BYTE, _HALF, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_FLOAT = ir.FloatType()


def lanes(*, vnni: bool) -> int:
    """Sums of 32 bits in a register: of AVX-512, or of AVX2."""
    return 16 if vnni else 8


def in_panels(weight: NDArray[np.int8], *, vnni: bool) -> NDArray[np.int8]:
    """A matrix as `dots` takes it, filled up with zeros.

    Args:
        weight: (O, I).
        vnni: as in `dots`.

    Returns:
        (P, I / 4, lanes, 4), P a multiple of `PANELS`; with `vnni`, I filled up to a multiple of `DEEP`. It begins
        with a line of the cache: where each register comes from two of them, a product takes twice as long.
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
    """An operation for Numba's functions: some rows of x times `PANELS` panels of w, brought to their size.

    It puts (x w - excess) scale unit + bias into `result`. Its arguments:

    - x: (R, I) in uint8, I as w has it, filled up,
    - units: (R,) in float32,
    - layer: w as `in_panels` gives it, and as long as all its panels: excess in int32, scales and bias in float32;
      what else it has is not read,
    - result: (R, PANELS x lanes or more) in float32, of which as many columns are written,
    - the first row, of x and `result`, the first panel, and the first column of `result`.

    Args:
        rows: of x.
        vnni: by the instruction of AVX-512 that adds four products in 32 bits; else by those of AVX2, which add two
            in 16 bits first, so that x has to be below 128.
    """
    width = lanes(vnni=vnni)

    @intrinsic
    def operation(
        _typing: object, x: Any, units: Any, layer: Any, result: Any, row: Any, panel: Any, column: Any
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            (x, units, w, *of_layer, result), (first, *of_result) = unpacked(context, builder, signature, arguments, 3)
            fours = cgutils.unpack_tuple(builder, w.shape)[1]
            totals = _sums(builder, x.data, w.data, (first, of_result[0], fours), rows, width)
            for m, of_row in enumerate(totals):
                sums = [builder.load(total) for total in of_row]
                row = builder.add(first, _place(m))
                bring_to_size(builder, sums, (units, *of_layer, result), (row, *of_result))
            return context.get_dummy_value()

        return types.void(x, units, layer, result, row, panel, column), generate

    return operation


def unpacked(
    context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, count: int
) -> tuple[list[Any], list[Any]]:
    """The arrays that an operation is given, w and what goes with it in the layer's place, and so many numbers."""
    kinds = [*signature.args[:2], *signature.args[2].types[:4], signature.args[3]]
    values = [*arguments[:2], *cgutils.unpack_tuple(builder, arguments[2])[:4], arguments[3]]
    arrays = [context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, values, strict=True)]
    numbers = range(4, 4 + count)
    return arrays, [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in numbers]


def bring_to_size(builder: ir.IRBuilder, sums: Sequence[Any], arrays: Any, first: Any) -> None:
    """Put (sums - excess) scale unit + bias into a row of the result.

    Args:
        builder: of the function.
        sums: of `PANELS` panels, a vector each.
        arrays: units, excess, scales, bias and result, as of `dots`.
        first: the row, the first panel, and the first column of the result.
    """
    (units, *of_outputs, result), (row, panel, column), width = arrays, first, sums[0].type.count
    vectors = [
        _from(builder, each.data, ir.VectorType(each.data.type.pointee, width), panel, PANELS) for each in of_outputs
    ]
    unit = _to_all_lanes(builder, builder.load(builder.gep(units.data, [row])), width)
    start = cgutils.pointer_add(
        builder, result.data, builder.mul(row, cgutils.unpack_tuple(builder, result.strides)[0])
    )
    to = _from(builder, builder.gep(start, [column]), ir.VectorType(_FLOAT, width), _place(0), PANELS)
    for n, sum_ in enumerate(sums):
        excess, scale, bias = (builder.load(each[n], align=4) for each in vectors)
        whole = builder.sitofp(builder.sub(sum_, excess), scale.type)
        sized = builder.fmul(builder.fmul(whole, scale), unit)
        builder.store(builder.fadd(sized, bias), to[n], align=4)


def _sums(builder: ir.IRBuilder, x: Any, w: Any, first: Any, rows: int, width: int) -> list[list[Any]]:
    """Where the sums of products are, of each row and each panel; `first` ends with how many fours an input has."""
    row, panel, fours = first
    lane_sums, lane_bytes = ir.VectorType(_WHOLE, width), ir.VectorType(_BYTE, FOUR * width)
    inputs = [_from(builder, x, _WHOLE, builder.mul(builder.add(row, _place(m)), fours), 1)[0] for m in range(rows)]
    weights = [
        _from(builder, w, lane_bytes, builder.mul(builder.add(panel, _place(n)), fours), 1)[0] for n in range(PANELS)
    ]
    totals = [[cgutils.alloca_once(builder, lane_sums) for _ in range(PANELS)] for _ in range(rows)]
    for total in (each for of_row in totals for each in of_row):
        builder.store(ir.Constant(lane_sums, [0] * width), total)
    ahead = builder.mul(fours, _place(PANELS))
    with cgutils.for_range(builder, fours, intp=_PLACE) as loop:
        others = [builder.load(builder.gep(each, [loop.index]), align=1) for each in weights]
        for each in weights if rows > 1 else ():  # a row alone is through with what it has before that comes
            fetch(builder, builder.gep(each, [builder.add(loop.index, ahead)]))
        for given, of_row in zip(inputs, totals, strict=True):
            four = _to_all_lanes(builder, builder.load(builder.gep(given, [loop.index]), align=1), width)
            for other, total in zip(others, of_row, strict=True):
                added = _add_products(builder, builder.load(total), builder.bitcast(four, lane_bytes), other)
                builder.store(added, total)
    return totals


def _from(builder: ir.IRBuilder, data: Any, kind: Any, first: Any, count: int) -> list[Any]:
    """Where so many of a kind are, one after the other, counted from the first of all."""
    start = builder.bitcast(data, kind.as_pointer())
    return [builder.gep(start, [builder.add(first, _place(n))]) for n in range(count)]


def _to_all_lanes(builder: ir.IRBuilder, number: Any, width: int) -> Any:
    vector = builder.insert_element(ir.Constant(ir.VectorType(number.type, width), ir.Undefined), number, _whole(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_WHOLE, width), [0] * width))


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
