"""e^x for many numbers at once, where the library's function takes one; written for LLVM directly."""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from models.kernels.machine import LANES
from models.kernels.vectors import broadcast, call, fma, given, number, replace

_INTEGERS: Final = ir.VectorType(ir.IntType(32), LANES)
_POLYNOMIAL: Final = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
_LOG2: Final = 0.693359375, -2.12194440e-4
"""The natural logarithm of 2 in two parts: a number of few digits, and the rest."""


def _exponentials(_typing: object, numbers: Any, count: Any, largest: Any, scale: Any) -> Any:
    """For Numba's functions: put `e^(scale (x - largest))` in place of the first `count` of float32 `numbers` x.

    No number may be larger than `largest`; NaN stays NaN.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (data,), (total,) = given(context, builder, signature, arguments, (0,), (1,))
        most, factor = (
            broadcast(builder, context.cast(builder, arguments[n], signature.args[n], types.float32)) for n in (2, 3)
        )

        replace(builder, data, total, lambda some: exp(builder, builder.fmul(builder.fsub(some, most), factor)))
        return context.get_dummy_value()

    return types.void(numbers, count, largest, scale), generate


exponentials: Final[Any] = intrinsic(_exponentials)


def exp(builder: ir.IRBuilder, x: Any) -> Any:
    """Build e^x for each lane of a vector; e^-87 for anything below.

    e^x = 2^n e^r with |r| <= log(2) / 2, where a polynomial (Cephes, `expf`) is exact except for the last bit.
    """
    x = call(builder, "maximum", x, number(-87.0))
    n = call(builder, "floor", fma(builder, x, number(1.4426950408889634), number(0.5)))
    r = x
    for part in _LOG2:
        r = fma(builder, n, number(-part), r)
    p = number(_POLYNOMIAL[0])
    for coefficient in _POLYNOMIAL[1:]:
        p = fma(builder, p, r, number(coefficient))
    p = builder.fadd(fma(builder, builder.fmul(p, r), r, r), number(1.0))
    exponent = builder.add(builder.fptosi(n, _INTEGERS), ir.Constant(_INTEGERS, [127] * LANES))
    bits = builder.shl(exponent, ir.Constant(_INTEGERS, [23] * LANES))
    return builder.fmul(p, builder.bitcast(bits, x.type))
