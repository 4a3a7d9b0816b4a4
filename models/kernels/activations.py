"""Activation functions, for many numbers at once; written for LLVM directly, which does not vectorize branches."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202, ANN401 - what Numba compiles has the types that it is called with

import math
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from models.kernels.compiled import compiled, part
from models.kernels.exponentials import exp
from models.kernels.vectors import call, fma, given, number, replace, zero
from models.kernels.views import tail

NONE: Final = -1
RELU: Final = 0
GELU: Final = 1
GELU_TANH: Final = 2
SWISH: Final = 3

_C: Final = (2 / math.pi) ** 0.5
_FAR: Final = 5.5
_COEFFICIENTS: Final = (
    *(0.12855193, -0.06417233, 0.047737394, -0.038793337, 0.032075465, -0.026041888, 0.020320972, -0.015031134),
    *(0.010406032, -0.0067379484, 0.004228205, -0.002529903, 0.0011994243, -0.00045282702, 0.00032888245),
    *(-0.00025720196, 7.7344404e-05),
)
"""Of powers of u = 2 x^2 / _FAR^2 - 1 in erf(x / sqrt(2)) / 2x, by least squares at 4,000 Chebyshev nodes with weights
x^2 + 0.01. They are written out so that they are the same everywhere."""


@part
def activate(row, count, activation):
    """Apply one of the functions above to the first numbers of a row, in place."""
    if activation == RELU:
        _relu(row, count)
    elif activation == GELU:
        _gelu(row, count)
    elif activation == GELU_TANH:
        _gelu_tanh(row, count)
    elif activation == SWISH:
        _swish(row, count)


@part
def sigmoid_rows(rows):
    """Apply the sigmoid to rows (R, D), in place."""
    for r in range(len(rows)):
        _sigmoid(tail(rows, r * rows.shape[1]), rows.shape[1])


def _sigmoid_all(rows):
    sigmoid_rows(rows)


sigmoid: Final = compiled(_sigmoid_all)


def _in_place(function: Callable[[ir.IRBuilder, Any], Any]) -> Any:
    """Return an operation for Numba's functions that applies a function to an array's first numbers; NaN stays NaN."""

    @intrinsic
    def operation(_typing: object, numbers: Any, count: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            (data,), (total,) = given(context, builder, signature, arguments, (0,), (1,))
            replace(builder, data, total, lambda some: function(builder, some))
            return context.get_dummy_value()

        return types.void(numbers, count), generate

    return operation


def _relu_of(builder: ir.IRBuilder, x: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, zero()), zero(), x)


def _gelu_of(builder: ir.IRBuilder, x: Any) -> Any:
    """X times (1 + erf(x / sqrt(2))) / 2, accurate to 7e-7, by a polynomial where it is neither 0 nor x.

    A division and an exponential, by which it could be computed with fewer coefficients, take twice as long.
    """
    squares = builder.fmul(x, x)
    u = fma(builder, squares, number(2 / _FAR**2), number(-1.0))
    polynomial = number(_COEFFICIENTS[-1])
    for coefficient in _COEFFICIENTS[-2::-1]:
        polynomial = fma(builder, polynomial, u, number(coefficient))
    near = builder.fmul(x, fma(builder, x, polynomial, number(0.5)))
    small, large = builder.fcmp_ordered("<", x, number(-_FAR)), builder.fcmp_ordered(">", x, number(_FAR))
    return builder.select(large, x, builder.select(small, zero(), near))


def _sigmoid_of(builder: ir.IRBuilder, x: Any) -> Any:
    """1 / (1 + e^-|x|) where x >= 0, else one minus that."""
    one, small = number(1.0), exp(builder, builder.fneg(call(builder, "fabs", x)))
    share = builder.select(builder.fcmp_ordered(">=", x, zero()), one, small)
    return builder.fdiv(share, builder.fadd(one, small))


def _swish_of(builder: ir.IRBuilder, x: Any) -> Any:
    """X sigmoid(x)."""
    return builder.fmul(x, _sigmoid_of(builder, x))


def _gelu_tanh_of(builder: ir.IRBuilder, x: Any) -> Any:
    """Hendrycks and Gimpel 2016, section 2: 0.5 x (1 + tanh(y)), which is x sigmoid(2 y), y = c (x + 0.044715 x^3)."""
    cubic = builder.fmul(number(2 * _C * 0.044715), builder.fmul(builder.fmul(x, x), x))
    return builder.fmul(x, _sigmoid_of(builder, fma(builder, number(2 * _C), x, cubic)))


_relu, _sigmoid = _in_place(_relu_of), _in_place(_sigmoid_of)
_gelu, _gelu_tanh, _swish = _in_place(_gelu_of), _in_place(_gelu_tanh_of), _in_place(_swish_of)
