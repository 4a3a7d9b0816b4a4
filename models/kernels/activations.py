"""What stands between the two layers of a feed-forward sub-layer; GELU written for LLVM directly."""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN401 - what Numba compiles has the types that it is called with

from typing import Any, Final

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from models.kernels.compiled import EXACT
from models.kernels.exponentials import power
from models.kernels.vectors import added, call, given, nought, number, replace

RELU: Final = 0
GELU: Final = 1

_P: Final = 0.3275911
_COEFFICIENTS: Final = 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592


@njit(**EXACT)
def activate(rows, activation):
    """Put max(0, x), or x times the normal distribution function of x, in place of each x of rows (R, D)."""
    for row in rows:
        if activation == GELU:
            _gelu(row, len(row))
        else:
            for i in range(len(row)):
                if row[i] < 0:  # noqa: PLR1730 - what is no number stays none
                    row[i] = 0


def _gelus(_typing: object, numbers: Any, count: Any) -> Any:
    """For Numba's functions: GELU in place of the first `count` of float32 `numbers`; what is no number stays none."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (data,), (total,) = given(context, builder, signature, arguments, (0,), (1,))
        replace(builder, data, total, lambda some: _of_vector(builder, some))
        return context.get_dummy_value()

    return types.void(numbers, count), generate


_gelu: Final[Any] = intrinsic(_gelus)


def _of_vector(builder: ir.IRBuilder, x: Any) -> Any:
    """X times the tail of the normal distribution beyond -x.

    That beyond |x| is (1 - erf(|x| / sqrt(2))) / 2, by Abramowitz and Stegun 1964, 7.1.26: with t = 1 / (1 + p |x| /
    sqrt(2)) it is t (a1 + a2 t + ... + a5 t^4) e^(-x^2 / 2) / 2, right to 1e-7.
    """
    one = number(1.0)
    t = builder.fdiv(one, added(builder, call(builder, "fabs", x), number(_P / 2**0.5), one))
    sum_ = number(_COEFFICIENTS[0] / 2)
    for coefficient in _COEFFICIENTS[1:]:
        sum_ = added(builder, sum_, t, number(coefficient / 2))
    density = power(builder, builder.fmul(builder.fmul(x, x), number(-0.5)))
    tail = builder.fmul(builder.fmul(t, sum_), density)
    below = builder.fcmp_ordered("<", x, nought())
    return builder.fmul(x, builder.select(below, tail, builder.fsub(one, tail)))
