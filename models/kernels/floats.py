"""Sums of products of floats, written for LLVM directly: over the width of a head, and over what is attended to.

Each sum has one order, whoever asks for it and whatever else is computed: by lanes over the width, which are then added
by halves; over keys one after the other.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.machine import LANES
from models.kernels.vectors import (
    FLOAT,
    HALVES,
    SIDE_BY_SIDE,
    VECTOR,
    added,
    constant,
    everywhere,
    given,
    load,
    loop,
    nought,
    pointer_to,
    summed,
    whole_vectors,
)

KEYS: Final = 4
"""Keys that are scored at once."""


def _score(_typing: object, query: Any, keys: Any, at: Any, count: Any, width: Any, scores: Any) -> Any:
    """For Numba's functions: `scores[s] = query . keys[at[s] : at[s] + width]`.

    Args:
        query: at least (width,) float32, in one piece, as all arrays here.
        keys: float32, or the bits of float16 as int16.
        at: int64; what stands after the last key up to a multiple of `KEYS` is read like it, and scored.
        count: of the keys.
        width: of a head.
        scores: float32, as long as what is read of `at`.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (q, k, where, to), (number, wide) = given(context, builder, signature, arguments, (0, 1, 2, 5), (3, 4))
        whole, totals = whole_vectors(builder, wide), [cgutils.alloca_once(builder, VECTOR) for _ in range(KEYS)]
        with loop(builder, constant(0), number, KEYS) as s:
            places = [builder.load(builder.gep(where, [builder.add(s, constant(n))])) for n in range(KEYS)]
            for total in totals:
                builder.store(nought(), total)
            with loop(builder, constant(0), whole, LANES) as i:
                own = load(builder, q, i)
                for place, total in zip(places, totals, strict=True):
                    other = load(builder, k, builder.add(place, i))
                    builder.store(added(builder, own, other, builder.load(total)), total)
            sums = summed(builder, [builder.load(total) for total in totals])
            builder.store(sums, pointer_to(builder, to, s, sums.type), align=4)
            with loop(builder, whole, wide, 1) as i:
                own = builder.load(builder.gep(q, [i]))
                for n, place in enumerate(places):
                    other = load(builder, k, builder.add(place, i), FLOAT)
                    sum_ = builder.gep(to, [builder.add(s, constant(n))])
                    builder.store(added(builder, own, other, builder.load(sum_)), sum_)
        return context.get_dummy_value()

    return types.void(query, keys, at, count, width, scores), generate


def _mix(_typing: object, weights: Any, share: Any, values: Any, at: Any, count: Any, width: Any, result: Any) -> Any:
    """For Numba's functions: `result[i] = share * sum of weights[s] * values[at[s] + i]`; arguments as in `score`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (w, v, where, to), (number, wide) = given(context, builder, signature, arguments, (0, 2, 3, 6), (4, 5))
        part = context.cast(builder, arguments[1], signature.args[1], types.float32)
        wider = builder.and_(wide, constant(-SIDE_BY_SIDE * LANES))
        for first, end, kind, beside in (
            (constant(0), wider, VECTOR, SIDE_BY_SIDE),
            (wider, whole_vectors(builder, wide), VECTOR, 1),
            (whole_vectors(builder, wide), wide, FLOAT, 1),
        ):
            _mix_columns(builder, (w, v, where, to), (first, end, number), part, kind, beside)
        return context.get_dummy_value()

    return types.void(weights, share, values, at, count, width, result), generate


def _halve(_typing: object, numbers: Any, count: Any, result: Any) -> Any:
    """For Numba's functions: put the first `count` of float32 `numbers` into `result`, as bits of float16 in int16."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (data, to), (total,) = given(context, builder, signature, arguments, (0, 2), (1,))
        whole = whole_vectors(builder, total)
        for first, end, size, kind, half in (
            (constant(0), whole, LANES, VECTOR, HALVES),
            (whole, total, 1, FLOAT, HALVES.element),
        ):
            with loop(builder, first, end, size) as i:
                found = builder.fptrunc(load(builder, data, i, kind), half)
                builder.store(found, pointer_to(builder, to, i, half), align=2)
        return context.get_dummy_value()

    return types.void(numbers, count, result), generate


score: Final[Any] = intrinsic(_score)
mix: Final[Any] = intrinsic(_mix)
halve: Final[Any] = intrinsic(_halve)


def _mix_columns(builder: ir.IRBuilder, data: Any, bounds: Any, share: Any, kind: Any, beside: int) -> None:
    """Some columns of the result, so many of a kind at a time."""
    (weights, values, at, result), (first, end, count) = data, bounds
    size = LANES if kind is VECTOR else 1
    totals = [cgutils.alloca_once(builder, kind) for _ in range(beside)]
    with loop(builder, first, end, size * beside) as i:
        for total in totals:
            builder.store(nought(kind), total)
        with loop(builder, constant(0), count, 1) as s:
            weight = everywhere(builder, builder.load(builder.gep(weights, [s])), kind)
            start = builder.add(builder.load(builder.gep(at, [s])), i)
            for n, total in enumerate(totals):
                value = load(builder, values, builder.add(start, constant(n * size)), kind)
                builder.store(added(builder, weight, value, builder.load(total)), total)
        for n, total in enumerate(totals):
            to = pointer_to(builder, result, builder.add(i, constant(n * size)), kind)
            builder.store(builder.fmul(builder.load(total), everywhere(builder, share, kind)), to, align=4)
