"""Products of integers, summed: written for LLVM directly, which uses the whole width of a register for it.

What Numba makes of such a loop uses half of one, and computes one sum at a time. Here a number that has been read is
used for several sums. It is no instruction of one CPU: LLVM finds the one that multiplies and adds in pairs, where
there is one.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

STEP: Final = 16
"""Numbers that are multiplied at once; rows are filled up with zeros to a multiple of it."""
_NUMBER: Final = ir.IntType(64)
_PAIRS: Final = ir.VectorType(ir.IntType(32), STEP // 2)
_WIDE: Final = ir.VectorType(ir.IntType(32), STEP)


def dots(rows: int, columns: int) -> Any:
    """An operation for Numba's functions: `sums[i, j] = x[i] . w[j]`, for so many rows of x, and of w, at once.

    Its arguments are x (R, I) in int16, w (O, I) in int8 and sums (R, O) in int32, in one piece each, with I a multiple
    of `STEP`, and the first i and j.
    """

    @intrinsic
    def operation(_typing: object, x: Any, w: Any, sums: Any, i: Any, j: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            arrays = [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
            ]
            first = [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in (3, 4)]
            _generate(builder, arrays, first, (rows, columns))
            return context.get_dummy_value()

        return types.void(x, w, sums, i, j), generate

    return operation


def _generate(builder: ir.IRBuilder, arrays: Any, first: Any, shape: tuple[int, int]) -> None:
    x, w, sums = arrays
    length, width = cgutils.unpack_tuple(builder, x.shape)[1], cgutils.unpack_tuple(builder, sums.shape)[1]
    zero = ir.Constant(_PAIRS, [0] * (STEP // 2))
    totals = [[cgutils.alloca_once_value(builder, zero) for _ in range(shape[1])] for _ in range(shape[0])]
    for total in (each for row in totals for each in row):
        builder.store(zero, total)
    step = ir.Constant(_NUMBER, STEP)
    with cgutils.for_range_slice(builder, ir.Constant(_NUMBER, 0), length, step, _NUMBER) as (k, _):
        read = [_read(builder, w.data, _place(builder, first[1], n, length, k), 8) for n in range(shape[1])]
        for m, row in enumerate(totals):
            factor = _read(builder, x.data, _place(builder, first[0], m, length, k), 16)
            for other, total in zip(read, row, strict=True):
                pairs = _halved(builder, builder.mul(factor, other), lambda n: (range(0, n, 2), range(1, n, 2)))
                builder.store(builder.add(builder.load(total), pairs), total)
    for m, row in enumerate(totals):
        for n, total in enumerate(row):
            place = _place(builder, first[0], m, width, builder.add(first[1], ir.Constant(_NUMBER, n)))
            builder.store(_summed(builder, builder.load(total)), builder.gep(sums.data, [place]))


def _place(builder: ir.IRBuilder, row: Any, further: int, width: Any, column: Any) -> Any:
    """Where in memory an element of a matrix is."""
    return builder.add(builder.mul(builder.add(row, ir.Constant(_NUMBER, further)), width), column)


def _read(builder: ir.IRBuilder, data: Any, place: Any, bits: int) -> Any:
    """`STEP` numbers of so many bits, in 32 bits each."""
    pointer = ir.VectorType(ir.IntType(bits), STEP).as_pointer()
    return builder.sext(builder.load(builder.bitcast(builder.gep(data, [place]), pointer), align=bits // 8), _WIDE)


def _halved(builder: ir.IRBuilder, vector: Any, halves: Callable[[int], tuple[range, range]]) -> Any:
    """The sum of the two halves of a vector, which are told by their indices."""
    one, other = (
        ir.Constant(ir.VectorType(ir.IntType(32), vector.type.count // 2), list(half))
        for half in halves(vector.type.count)
    )
    return builder.add(builder.shuffle_vector(vector, vector, one), builder.shuffle_vector(vector, vector, other))


def _summed(builder: ir.IRBuilder, vector: Any) -> Any:
    while vector.type.count > 1:
        vector = _halved(builder, vector, lambda n: (range(n // 2), range(n // 2, n)))
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))
