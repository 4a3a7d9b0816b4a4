"""Parts of arrays that are only looked at, and copied.

A slice of Numba's counts who uses its memory, by two instructions that lock it, and there were several of them for
each head of each row.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN401 - neither package says what its types are, and what is compiled has its callers'

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from models.kernels.compiled import inlined


def _tail(_typing: object, array: Any, first: Any) -> Any:
    """For Numba's functions: what is in an array, read row by row, from an element on: (its size - first,).

    The array has to be in one piece, and not to end before. Numba frees an array after its last use, whatever looks at
    it: it must be one of the caller's, or used again after this part of it.
    """
    if array.layout != "C":
        return None

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        kind, flat = signature.args[0], signature.return_type
        whole = make_array(kind)(context, builder, arguments[0])
        start = context.cast(builder, arguments[1], signature.args[1], types.intp)
        result = make_array(flat)(context, builder)
        populate_array(
            result,
            data=builder.gep(whole.data, [start]),
            shape=cgutils.pack_array(builder, [builder.sub(whole.nitems, start)]),
            strides=cgutils.pack_array(builder, [whole.itemsize]),
            itemsize=whole.itemsize,
            meminfo=None,
            parent=None,
        )
        return result._getvalue()  # noqa: SLF001

    return types.Array(array.dtype, 1, "C")(array, first), generate


tail: Final[Any] = intrinsic(_tail)


def _pointer(_typing: object, address: Any) -> Any:
    """For Numba's functions: an address, as `carray` takes it."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Final[Any] = intrinsic(_pointer)


@inlined
def copy(numbers, count, to):
    """Put so many numbers in the place of others.

    By a loop of our own: Numba's assignment looks at each index, and takes a tenth of the time in which all is compiled
    to be able to say which shapes do not fit.
    """
    for i in range(count):
        to[i] = numbers[i]
