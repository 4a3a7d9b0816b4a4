"""Sums of products of floats, written for LLVM directly: over the width of a head, and over the keys attended to.

Each sum has a fixed order, whatever else is computed: over the width lane by lane, with the lanes then added by halves;
over keys one after the other.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401, PLR0913, PLR0917 - neither package says what its types are; each argument is one of a function

from collections.abc import Sequence
from itertools import chain
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
    broadcast,
    constant,
    fetch,
    fma,
    given,
    load,
    loop,
    pointer_to,
    summed,
    whole_vectors,
    zero,
)

KEYS: Final = 4
"""Keys that are scored at once."""
QUERIES: Final = 4 if LANES == 16 else 2
"""Queries that read the same keys at once: as many as can keep their sums in the 32 or 16 registers."""


def _score(_typing: object, query: Any, keys: Any, at: Any, count: Any, width: Any, scores: Any) -> Any:
    """For Numba's functions: `scores[s] = query . keys[at[s] : at[s] + width]`.

    Args:
        query: at least (width,) float32; contiguous, like all arrays here.
        keys: float32, or the bits of float16 as int16.
        at: int64, the offset of each key; entries beyond the last, up to a multiple of `KEYS`, are scored like keys.
        count: the number of keys.
        width: of a head.
        scores: float32, as long as the part of `at` that is read.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (q, k, where, to), (number, wide) = given(context, builder, signature, arguments, (0, 1, 2, 5), (3, 4))
        _build_scores(builder, [q], (k, where, number, wide), [to])
        return context.get_dummy_value()

    return types.void(query, keys, at, count, width, scores), generate


def _score_and_fetch(
    _typing: object, query: Any, keys: Any, at: Any, count: Any, width: Any, scores: Any, coming: Any, to_come: Any
) -> Any:
    """The same, and prefetch what is read next: `coming` at the offsets `to_come`, which are like `at`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        arrays, (number, wide) = given(context, builder, signature, arguments, (0, 1, 2, 5, 6, 7), (3, 4))
        q, k, where, to, *following = arrays
        _build_scores(builder, [q], (k, where, number, wide), [to], following)
        return context.get_dummy_value()

    return types.void(query, keys, at, count, width, scores, coming, to_come), generate


def _score_several(
    _typing: object,
    queries: Any,
    to_query: Any,
    keys: Any,
    at: Any,
    count: Any,
    width: Any,
    scores: Any,
    to_scores: Any,
    coming: Any,
    to_come: Any,
) -> Any:
    """The same for `QUERIES` queries, `to_query` apart, with scores `to_scores` apart: each key is read once."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        arrays, numbers = given(context, builder, signature, arguments, (0, 2, 3, 6, 8, 9), (1, 4, 5, 7))
        (q, k, where, to, *following), (to_next, number, wide, to_other) = arrays, numbers
        rows, sums = _every(builder, q, to_next), _every(builder, to, to_other)
        _build_scores(builder, rows, (k, where, number, wide), sums, following)
        return context.get_dummy_value()

    kinds = queries, to_query, keys, at, count, width, scores, to_scores, coming, to_come
    return types.void(*kinds), generate


def _mix(_typing: object, weights: Any, share: Any, values: Any, at: Any, count: Any, width: Any, result: Any) -> Any:
    """For Numba's functions: `result[i] = share * sum of weights[s] * values[at[s] + i]`; arguments as in `score`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (w, v, where, to), (number, wide) = given(context, builder, signature, arguments, (0, 2, 3, 6), (4, 5))
        part = context.cast(builder, arguments[1], signature.args[1], types.float32)
        _build_mixtures(builder, [w], [part], (v, where, number, wide), [to])
        return context.get_dummy_value()

    return types.void(weights, share, values, at, count, width, result), generate


def _mix_and_fetch(
    _typing: object,
    weights: Any,
    share: Any,
    values: Any,
    at: Any,
    count: Any,
    width: Any,
    result: Any,
    coming: Any,
    to_come: Any,
) -> Any:
    """The same, and prefetch what is read next, as in `score_and_fetch`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        arrays, (number, wide) = given(context, builder, signature, arguments, (0, 2, 3, 6, 7, 8), (4, 5))
        w, v, where, to, *following = arrays
        part = context.cast(builder, arguments[1], signature.args[1], types.float32)
        _build_mixtures(builder, [w], [part], (v, where, number, wide), [to], following)
        return context.get_dummy_value()

    return types.void(weights, share, values, at, count, width, result, coming, to_come), generate


def _mix_several(
    _typing: object,
    weights: Any,
    to_weights: Any,
    shares: Any,
    values: Any,
    at: Any,
    count: Any,
    width: Any,
    result: Any,
    to_result: Any,
    coming: Any,
    to_come: Any,
) -> Any:
    """The same for `QUERIES` rows of weights, `to_weights` apart, with as many results, `to_result` apart."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        arrays, numbers = given(context, builder, signature, arguments, (0, 2, 3, 4, 7, 9, 10), (1, 5, 6, 8))
        (w, s, v, where, to, *following), (to_next, number, wide, to_other) = arrays, numbers
        parts = [builder.load(each) for each in _every(builder, s, constant(1))]
        rows, results = _every(builder, w, to_next), _every(builder, to, to_other)
        _build_mixtures(builder, rows, parts, (v, where, number, wide), results, following)
        return context.get_dummy_value()

    kinds = weights, to_weights, shares, values, at, count, width, result, to_result, coming, to_come
    return types.void(*kinds), generate


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
score_and_fetch: Final[Any] = intrinsic(_score_and_fetch)
score_several: Final[Any] = intrinsic(_score_several)
mix: Final[Any] = intrinsic(_mix)
mix_and_fetch: Final[Any] = intrinsic(_mix_and_fetch)
mix_several: Final[Any] = intrinsic(_mix_several)
halve: Final[Any] = intrinsic(_halve)


def _every(builder: ir.IRBuilder, first: Any, distance: Any) -> list[Any]:
    """Return where each of `QUERIES` arrays begins."""
    return [builder.gep(first, [builder.mul(distance, constant(n))]) for n in range(QUERIES)]


def _build_scores(
    builder: ir.IRBuilder, queries: Sequence[Any], known: Any, scores: Sequence[Any], following: Sequence[Any] = ()
) -> None:
    """Build the scores of each query with each key; the order of a sum does not depend on how many are computed."""
    keys, at, count, width = known
    whole = whole_vectors(builder, width)
    totals = [[cgutils.alloca_once(builder, VECTOR) for _ in range(KEYS)] for _ in queries]
    with loop(builder, constant(0), count, KEYS) as s:
        places = _places(builder, at, s)
        to_come = _places(builder, following[1], s) if following else []
        for total in chain(*totals):
            builder.store(zero(), total)
        with loop(builder, constant(0), whole, LANES) as i:
            own = [load(builder, query, i) for query in queries]
            for place in to_come:
                fetch(builder, builder.gep(following[0], [builder.add(place, i)]))
            for n, place in enumerate(places):
                other = load(builder, keys, builder.add(place, i))
                for query, row in zip(own, totals, strict=True):
                    builder.store(fma(builder, query, other, builder.load(row[n])), row[n])
        for row, to in zip(totals, scores, strict=True):
            sums = summed(builder, [builder.load(total) for total in row])
            builder.store(sums, pointer_to(builder, to, s, sums.type), align=4)
        with loop(builder, whole, width, 1) as i:
            for n, place in enumerate(places):
                other = load(builder, keys, builder.add(place, i), FLOAT)
                for query, to in zip(queries, scores, strict=True):
                    sum_ = builder.gep(to, [builder.add(s, constant(n))])
                    own = builder.load(builder.gep(query, [i]))
                    builder.store(fma(builder, own, other, builder.load(sum_)), sum_)


def _places(builder: ir.IRBuilder, at: Any, first: Any) -> list[Any]:
    """Return the offsets of `KEYS` keys."""
    return [builder.load(builder.gep(at, [builder.add(first, constant(n))])) for n in range(KEYS)]


def _build_mixtures(
    builder: ir.IRBuilder,
    weights: Sequence[Any],
    shares: Sequence[Any],
    known: Any,
    results: Sequence[Any],
    following: Sequence[Any] = (),
) -> None:
    """Build the sum of the values, weighted by each row of weights."""
    width = known[-1]
    wider, whole = builder.and_(width, constant(-SIDE_BY_SIDE * LANES)), whole_vectors(builder, width)
    for first, end, kind, beside in (
        (constant(0), wider, VECTOR, SIDE_BY_SIDE),
        (wider, whole, VECTOR, 1),
        (whole, width, FLOAT, 1),
    ):
        _build_columns(builder, (weights, shares, results), known, following, (first, end), kind, beside)


def _build_columns(
    builder: ir.IRBuilder, rows: Any, known: Any, following: Sequence[Any], bounds: Any, kind: Any, beside: int
) -> None:
    """Build some columns of the mixtures: `beside` vectors or floats at a time."""
    (weights, shares, results), (values, at, count, _) = rows, known
    size = LANES if kind is VECTOR else 1
    totals = [[cgutils.alloca_once(builder, kind) for _ in range(beside)] for _ in weights]
    with loop(builder, bounds[0], bounds[1], size * beside) as i:
        for total in chain(*totals):
            builder.store(zero(kind), total)
        with loop(builder, constant(0), count, 1) as s:
            own = [broadcast(builder, builder.load(builder.gep(each, [s])), kind) for each in weights]
            start = builder.add(builder.load(builder.gep(at, [s])), i)
            if following and kind is VECTOR:
                coming, to_come = following
                first = builder.add(builder.load(builder.gep(to_come, [s])), i)
                for n in range(beside):
                    fetch(builder, builder.gep(coming, [builder.add(first, constant(n * size))]))
            for n in range(beside):
                value = load(builder, values, builder.add(start, constant(n * size)), kind)
                for weight, row in zip(own, totals, strict=True):
                    builder.store(fma(builder, weight, value, builder.load(row[n])), row[n])
        for row, share, result in zip(totals, shares, results, strict=True):
            for n, total in enumerate(row):
                to = pointer_to(builder, result, builder.add(i, constant(n * size)), kind)
                builder.store(builder.fmul(builder.load(total), broadcast(builder, share, kind)), to, align=4)
