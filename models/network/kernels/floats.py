"""Sums of products of floats, written for LLVM directly: over the width of a head, and over what is attended to.

Each sum has one order, whoever asks for it and whatever else is computed: by lanes over the width, which are then added
by halves; over keys one after the other. Numba's own loops begin with looking at how long they are and where they read.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.network.kernels.machine import LANES

KEYS: Final = 4
"""Keys that are scored at once."""
_FLOAT, _INDEX, _PLACE = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR: Final = ir.VectorType(_FLOAT, LANES)
_SIDE_BY_SIDE: Final = 4
"""Vectors that are summed at once."""


def _score(_typing: object, query: Any, keys: Any, at: Any, count: Any, width: Any, scores: Any) -> Any:
    """For Numba's functions: `scores[s] = query . keys[at[s] : at[s] + width]`.

    Args:
        query: at least (width,) float32, in one piece, as all arrays here.
        keys: float32.
        at: int64; what stands after the last key up to a multiple of `KEYS` is read like it, and scored.
        count: of the keys.
        width: of a head.
        scores: float32, as long as what is read of `at`.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (q, k, where, to), (number, wide) = _given(context, builder, signature, arguments, (0, 1, 2, 5), (3, 4))
        whole, totals = _whole_vectors(builder, wide), [cgutils.alloca_once(builder, _VECTOR) for _ in range(KEYS)]
        with _each(builder, _place(0), number, KEYS) as s:
            places = [builder.load(builder.gep(where, [builder.add(s, _place(n))])) for n in range(KEYS)]
            for total in totals:
                builder.store(_nought(), total)
            with _each(builder, _place(0), whole, LANES) as i:
                own = _vector(builder, q, i)
                for place, total in zip(places, totals, strict=True):
                    other = _vector(builder, k, builder.add(place, i))
                    builder.store(_added(builder, own, other, builder.load(total)), total)
            sums = _summed(builder, [builder.load(total) for total in totals])
            builder.store(sums, _pointer(builder, to, s, sums.type), align=4)
            with _each(builder, whole, wide, 1) as i:
                own = builder.load(builder.gep(q, [i]))
                for n, place in enumerate(places):
                    other = builder.load(builder.gep(k, [builder.add(place, i)]))
                    sum_ = builder.gep(to, [builder.add(s, _place(n))])
                    builder.store(_added(builder, own, other, builder.load(sum_)), sum_)
        return context.get_dummy_value()

    return types.void(query, keys, at, count, width, scores), generate


def _mix(_typing: object, weights: Any, share: Any, values: Any, at: Any, count: Any, width: Any, result: Any) -> Any:
    """For Numba's functions: `result[i] = share * sum of weights[s] * values[at[s] + i]`; arguments as in `score`."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (w, v, where, to), (number, wide) = _given(context, builder, signature, arguments, (0, 2, 3, 6), (4, 5))
        part = context.cast(builder, arguments[1], signature.args[1], types.float32)
        wider = builder.and_(wide, _place(-_SIDE_BY_SIDE * LANES))
        for first, end, kind, beside in (
            (_place(0), wider, _VECTOR, _SIDE_BY_SIDE),
            (wider, _whole_vectors(builder, wide), _VECTOR, 1),
            (_whole_vectors(builder, wide), wide, _FLOAT, 1),
        ):
            _mix_columns(builder, (w, v, where, to), (first, end, number), part, kind, beside)
        return context.get_dummy_value()

    return types.void(weights, share, values, at, count, width, result), generate


score: Final[Any] = intrinsic(_score)
mix: Final[Any] = intrinsic(_mix)


def _mix_columns(builder: ir.IRBuilder, data: Any, bounds: Any, share: Any, kind: Any, beside: int) -> None:
    """Some columns of the result, so many of a kind at a time."""
    (weights, values, at, result), (first, end, count) = data, bounds
    size = LANES if kind is _VECTOR else 1
    totals = [cgutils.alloca_once(builder, kind) for _ in range(beside)]
    with _each(builder, first, end, size * beside) as i:
        for total in totals:
            builder.store(_nought(kind), total)
        with _each(builder, _place(0), count, 1) as s:
            weight = _everywhere(builder, builder.load(builder.gep(weights, [s])), kind)
            start = builder.add(builder.load(builder.gep(at, [s])), i)
            for n, total in enumerate(totals):
                value = _vector(builder, values, builder.add(start, _place(n * size)), kind)
                builder.store(_added(builder, weight, value, builder.load(total)), total)
        for n, total in enumerate(totals):
            pointer = _pointer(builder, result, builder.add(i, _place(n * size)), kind)
            builder.store(builder.fmul(builder.load(total), _everywhere(builder, share, kind)), pointer, align=4)


def _given(
    context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, arrays: Sequence[int], numbers: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    """Where arrays begin, and numbers in 64 bits."""
    kinds = signature.args
    data = [context.make_array(kinds[n])(context, builder, arguments[n]).data for n in arrays]
    return data, [context.cast(builder, arguments[n], kinds[n], types.intp) for n in numbers]


@contextmanager
def _each(builder: ir.IRBuilder, first: Any, end: Any, step: int) -> Iterator[Any]:
    with cgutils.for_range_slice(builder, first, end, _place(step), _PLACE) as (index, _):
        yield index


def _whole_vectors(builder: ir.IRBuilder, width: Any) -> Any:
    return builder.and_(width, _place(-LANES))


def _vector(builder: ir.IRBuilder, data: Any, index: Any, kind: Any = _VECTOR) -> Any:
    return builder.load(_pointer(builder, data, index, kind), align=4)


def _pointer(builder: ir.IRBuilder, data: Any, index: Any, kind: Any) -> Any:
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _everywhere(builder: ir.IRBuilder, number: Any, kind: Any) -> Any:
    if kind is _FLOAT:
        return number
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))


def _added(builder: ir.IRBuilder, a: Any, b: Any, total: Any) -> Any:
    """The product added to the total, rounded once."""
    name = "llvm.fma.f32" if a.type is _FLOAT else f"llvm.fma.v{LANES}f32"
    function = ir.FunctionType(a.type, [a.type] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, function, name), [a, b, total])


def _summed(builder: ir.IRBuilder, four: Sequence[Any]) -> Any:
    """The sums of all lanes of four vectors, side by side: of halves, down to eight lanes, then twice of pairs."""
    while four[0].type.count > 8:
        half = four[0].type.count // 2
        four = [_folded(builder, each, each, (range(half), range(half, 2 * half))) for each in four]
    pairs = (0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15)
    a, b = (_folded(builder, four[n], four[n + 1], pairs) for n in (0, 2))
    quarters = _folded(builder, a, b, pairs)
    return _folded(builder, quarters, quarters, (range(4), range(4, 8)))


def _folded(builder: ir.IRBuilder, a: Any, b: Any, lanes: Sequence[Sequence[int]]) -> Any:
    """The sum of some lanes of two vectors, and as many others; those of `b` are counted on from `a`."""
    one, other = (
        builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, len(each)), list(each))) for each in lanes
    )
    return builder.fadd(one, other)


def _nought(kind: Any = _VECTOR) -> Any:
    return ir.Constant(kind, 0.0 if kind is _FLOAT else [0.0] * LANES)


def _place(number: int) -> Any:
    return ir.Constant(_PLACE, number)
