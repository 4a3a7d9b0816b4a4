"""Products of integers, summed: written for LLVM directly, which uses the whole width of a register for it.

What Numba makes of such a loop uses half of one, and computes one sum at a time. Here a number that has been read is
used for several sums.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

STEP: Final = 32
"""Rows are filled up with zeros to a multiple of it."""
COLUMNS: Final = 4
"""Sums are computed so many side by side."""
_BYTE, _HALF, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_SUMS: Final = ir.VectorType(_WHOLE, 8)


def dots(rows: int, *, in_bytes: bool) -> Any:
    """An operation for Numba's functions: `sums[i, j] = x[i] . w[j]`, for some rows of x and `COLUMNS` of w at once.

    Its arguments are x (R, I), w (O, I) in int8 and sums (R, O) in int32, in one piece each, with I a multiple of
    `STEP`, and the first i and j.

    Args:
        rows: of x.
        in_bytes: x is of uint8 up to 127, by an instruction of AVX2 that adds two products in 16 bits; else of int16,
            in what LLVM finds best.
    """

    @intrinsic
    def operation(_typing: object, x: Any, w: Any, sums: Any, i: Any, j: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
            ]
            first = [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in (3, 4)]
            way = (STEP, _read_bytes, _multiply_bytes) if in_bytes else (STEP // 2, _read_wide, _multiply_wide)
            _generate(builder, arrays, first, rows, *way)
            return context.get_dummy_value()

        return types.void(x, w, sums, i, j), generate

    return operation


def _generate(
    builder: ir.IRBuilder,
    arrays: Any,
    first: Any,
    rows: int,
    step: int,
    read: Callable[[ir.IRBuilder, Any, Any], Any],
    multiply: Callable[[ir.IRBuilder, Any, Any], Any],
) -> None:
    x, w, sums = arrays
    length, width = cgutils.unpack_tuple(builder, x.shape)[1], cgutils.unpack_tuple(builder, sums.shape)[1]
    nought = ir.Constant(_SUMS, [0] * 8)
    totals = [[cgutils.alloca_once_value(builder, nought) for _ in range(COLUMNS)] for _ in range(rows)]
    for total in (each for row in totals for each in row):
        builder.store(nought, total)
    with cgutils.for_range_slice(builder, _place(0), length, _place(step), _PLACE) as (k, _):
        factors = [read(builder, x.data, _index(builder, first[0], m, length, k)) for m in range(rows)]
        for n in range(COLUMNS):
            other = read(builder, w.data, _index(builder, first[1], n, length, k))
            for factor, row in zip(factors, totals, strict=True):
                builder.store(builder.add(builder.load(row[n]), multiply(builder, factor, other)), row[n])
    for m, row in enumerate(totals):
        index = _index(builder, first[0], m, width, first[1])
        pointer = builder.bitcast(builder.gep(sums.data, [index]), ir.VectorType(_WHOLE, COLUMNS).as_pointer())
        builder.store(_summed(builder, *(builder.load(total) for total in row)), pointer, align=4)


def _read_wide(builder: ir.IRBuilder, data: Any, index: Any) -> Any:
    """Integers of any size, in 32 bits each."""
    read = _read(builder, data, index, STEP // 2)
    return builder.sext(read, ir.VectorType(_WHOLE, STEP // 2))


def _read_bytes(builder: ir.IRBuilder, data: Any, index: Any) -> Any:
    return _read(builder, data, index, STEP)


def _read(builder: ir.IRBuilder, data: Any, index: Any, count: int) -> Any:
    kind = data.type.pointee
    pointer = builder.bitcast(builder.gep(data, [index]), ir.VectorType(kind, count).as_pointer())
    return builder.load(pointer, align=kind.width // 8)


def _multiply_wide(builder: ir.IRBuilder, x: Any, w: Any) -> Any:
    """Products, added in pairs: LLVM knows an instruction for both."""
    products = builder.mul(x, w)
    return _added(builder, products, products, range(0, STEP // 2, 2), range(1, STEP // 2, 2))


def _multiply_bytes(builder: ir.IRBuilder, x: Any, w: Any) -> Any:
    """Products, added in pairs in 16 bits, and these in pairs in 32."""
    halves, ones = ir.VectorType(_HALF, STEP // 2), ir.Constant(ir.VectorType(_HALF, STEP // 2), [1] * (STEP // 2))
    in_16 = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(halves, [x.type, w.type]), "llvm.x86.avx2.pmadd.ub.sw"
    )
    in_32 = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_SUMS, [halves, halves]), "llvm.x86.avx2.pmadd.wd"
    )
    return builder.call(in_32, [builder.call(in_16, [x, w]), ones])


def _summed(builder: ir.IRBuilder, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums of four vectors, side by side: twice by pairs, as one instruction does it, then of both halves."""
    pairs = (0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15)
    quarters = _added(builder, _added(builder, a, b, *pairs), _added(builder, c, d, *pairs), *pairs)
    return _added(builder, quarters, quarters, range(4), range(4, 8))


def _added(builder: ir.IRBuilder, a: Any, b: Any, one: Sequence[int], other: Sequence[int]) -> Any:
    """The sum of some elements of two vectors, and as many others; `b` is counted on from `a`."""
    chosen = [
        builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_WHOLE, len(each)), list(each))) for each in (one, other)
    ]
    return builder.add(*chosen)


def _index(builder: ir.IRBuilder, row: Any, further: int, width: Any, column: Any) -> Any:
    """Where in memory an element of a matrix is."""
    return builder.add(builder.mul(builder.add(row, _place(further)), width), column)


def _place(number: int) -> Any:
    return ir.Constant(_PLACE, number)
