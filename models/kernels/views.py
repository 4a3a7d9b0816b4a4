"""Views of arrays without a reference count, and a copy without checks.

Numba's slices count the references to their memory with two locked instructions each, and there were several slices for
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
    """For Numba's functions: a flat view of an array from element `first` on, of shape (size - first,).

    The array must be contiguous and have at least `first` elements. Numba frees an array after its last use even if it
    has a view: the array must be one of the caller's, or be used again after the view.
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
    """For Numba's functions: an address as a pointer, as `carray` takes it."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Final[Any] = intrinsic(_pointer)


@inlined
def copy(numbers, count, to):
    """Copy the first `count` numbers to another array.

    This is a loop of its own because Numba's assignment checks each index, and the code for its messages about shapes
    that do not match takes a tenth of the time of compiling everything.
    """
    for i in range(count):
        to[i] = numbers[i]


@inlined
def clear(numbers, count):
    """Set the first `count` numbers to zero."""
    for i in range(count):
        numbers[i] = 0
