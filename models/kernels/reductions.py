"""Reductions of many floats to one, written for LLVM directly, in the same order wherever they are inlined.

Four vectors are accumulated side by side, then combined by halves.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.exponentials import exp
from models.kernels.machine import LANES
from models.kernels.vectors import (
    SIDE_BY_SIDE,
    VECTOR,
    broadcast,
    call,
    constant,
    fma,
    given,
    halves,
    load,
    load_masked,
    loop,
    number,
    rest,
    whole_vectors,
)

_Take = Callable[[Any, Any], Any]
"""Combines what was found so far with more numbers; for vectors, lane by lane."""


def _largest(_typing: object, numbers: Any, count: Any) -> Any:
    """For Numba's functions: the largest of the first `count` of float32 `numbers`; NaN if one of them is NaN."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        def larger(one: Any, other: Any) -> Any:
            return call(builder, "maximum", one, other)

        return _reduced(builder, *_array(context, builder, signature, arguments), -float("inf"), larger, larger)

    return types.float32(numbers, count), generate


def _total(_typing: object, numbers: Any, count: Any) -> Any:
    """For Numba's functions: the sum of the first `count` of float32 `numbers`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        array = _array(context, builder, signature, arguments)
        return _reduced(builder, *array, 0.0, builder.fadd, builder.fadd)

    return types.float32(numbers, count), generate


def _squared_deviations(_typing: object, numbers: Any, count: Any, mean: Any) -> Any:
    """For Numba's functions: the sum of `(x - mean)^2` over the first `count` of float32 `numbers` x."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        middle = context.cast(builder, arguments[2], signature.args[2], types.float32)

        def take(sum_: Any, some: Any) -> Any:
            distance = builder.fsub(some, broadcast(builder, middle))
            return fma(builder, distance, distance, sum_)

        array = _array(context, builder, signature, arguments)
        return _reduced(builder, *array, 0.0, take, builder.fadd)

    return types.float32(numbers, count, mean), generate


def _total_of_exponentials(_typing: object, numbers: Any, count: Any, most: Any) -> Any:
    """For Numba's functions: the sum of `e^(x - most)` over the first `count` of float32 `numbers` x <= `most`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        top = context.cast(builder, arguments[2], signature.args[2], types.float32)

        def take(sum_: Any, some: Any) -> Any:
            return builder.fadd(sum_, exp(builder, builder.fsub(some, broadcast(builder, top))))

        array = _array(context, builder, signature, arguments)
        return _reduced(builder, *array, 0.0, take, builder.fadd)

    return types.float32(numbers, count, most), generate


largest: Final[Any] = intrinsic(_largest)
total: Final[Any] = intrinsic(_total)
total_of_exponentials: Final[Any] = intrinsic(_total_of_exponentials)
squared_deviations: Final[Any] = intrinsic(_squared_deviations)


def _array(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> tuple[Any, Any]:
    (data,), (count,) = given(context, builder, signature, arguments, (0,), (1,))
    return data, count


def _reduced(builder: ir.IRBuilder, data: Any, count: Any, start: float, take: _Take, join: _Take) -> Any:
    """Build the reduction of an array to one float.

    Args:
        builder: to build with.
        data: where the array begins.
        count: how many numbers it has.
        start: the result for no numbers.
        take: combines a partial result with more numbers.
        join: combines two partial results.
    """
    four = [cgutils.alloca_once(builder, VECTOR) for _ in range(SIDE_BY_SIDE)]
    for found in four:
        builder.store(number(start), found)
    bounds = constant(0), builder.and_(count, constant(-SIDE_BY_SIDE * LANES)), whole_vectors(builder, count)
    for (first, end), some in zip(pairwise(bounds), (four, four[:1]), strict=True):
        with loop(builder, first, end, len(some) * LANES) as i:
            for n, found in enumerate(some):
                numbers = load(builder, data, builder.add(i, constant(n * LANES)))
                builder.store(take(builder.load(found), numbers), found)
    with rest(builder, bounds[-1], count) as lanes:
        before = builder.load(four[1])
        taken = take(before, load_masked(builder, data, bounds[-1], lanes))
        builder.store(builder.select(lanes, taken, before), four[1])
    return _joined(builder, [builder.load(found) for found in four], join)


def _joined(builder: ir.IRBuilder, parts: list[Any], join: _Take) -> Any:
    """Combine all lanes of some vectors, whose number is a power of two."""
    while len(parts) > 1:
        parts = [join(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    vector = parts[0]
    while vector.type.count > 2:
        vector = join(*halves(builder, vector))
    return join(*(builder.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(2)))
