"""Scores of several queries with the same keys, which are turned first: a vector then has one number of many keys.

Summing a vector's lanes takes longer than the products, and here none is summed: each lane has a key's score. The sums
are those of `floats.score` in the same order, so the bits are the same.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.floats import QUERIES
from models.kernels.machine import LANES
from models.kernels.vectors import (
    FLOAT,
    VECTOR,
    broadcast,
    constant,
    fma,
    given,
    load,
    loop,
    pointer_to,
    shuffled,
    whole_vectors,
    zero,
)

TURNED: Final = LANES
"""Keys that are turned, and scored, together."""
_PAIRS: Final = [(n, n + 8) for n in range(8)] if LANES == 16 else [(2 * n, 2 * n + 1) for n in range(4)]
"""Lanes that `floats.score` adds first; it then adds the sums of neighbouring pairs, and so on."""


def _turn(_typing: object, keys: Any, at: Any, count: Any, width: Any, turned: Any) -> Any:
    """For Numba's functions: `turned[b, i, n] = keys[at[TURNED b + n] + i]`, for blocks b of `TURNED` keys.

    Args:
        keys: float32, or the bits of float16 as int16; contiguous, like all arrays here.
        at: int64, the offset of each key; entries beyond the last, up to a multiple of `TURNED`, are turned like keys.
        count: the number of keys.
        width: of a head.
        turned: float32, with room for all blocks, (B, width, TURNED).
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (data, where, to), (number, wide) = given(context, builder, signature, arguments, (0, 1, 4), (2, 3))
        whole = whole_vectors(builder, wide)
        with loop(builder, constant(0), number, TURNED) as s:
            places = [builder.load(builder.gep(where, [builder.add(s, constant(n))])) for n in range(TURNED)]
            first = builder.gep(to, [builder.mul(s, wide)])
            with loop(builder, constant(0), whole, LANES) as i:
                square = _transposed(builder, [load(builder, data, builder.add(place, i)) for place in places])
                for n, row in enumerate(square):
                    _store(builder, row, first, builder.add(i, constant(n)))
            with loop(builder, whole, wide, 1) as i:
                row = ir.Constant(VECTOR, ir.Undefined)
                for n, place in enumerate(places):
                    number_ = load(builder, data, builder.add(place, i), FLOAT)
                    row = builder.insert_element(row, number_, ir.Constant(ir.IntType(32), n))
                _store(builder, row, first, i)
        return context.get_dummy_value()

    return types.void(keys, at, count, width, turned), generate


def _score_turned(
    _typing: object, queries: Any, to_query: Any, turned: Any, count: Any, width: Any, scores: Any, to_scores: Any
) -> Any:
    """For Numba's functions: the scores of `QUERIES` queries, `to_query` apart, with keys as `turn` leaves them.

    Those of each query are `to_scores` apart, and are computed up to a multiple of `TURNED`.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        arrays, numbers = given(context, builder, signature, arguments, (0, 2, 5), (1, 3, 4, 6))
        (q, keys, to), (to_next, number, wide, to_other) = arrays, numbers
        queries = [builder.gep(q, [builder.mul(to_next, constant(n))]) for n in range(QUERIES)]
        with loop(builder, constant(0), number, TURNED) as s:
            block = builder.gep(keys, [builder.mul(s, wide)])
            for n, sums in enumerate(_summed(builder, queries, block, wide)):
                place = builder.add(builder.mul(to_other, constant(n)), s)
                builder.store(sums, pointer_to(builder, to, place, VECTOR), align=4)
        return context.get_dummy_value()

    return types.void(queries, to_query, turned, count, width, scores, to_scores), generate


turn: Final[Any] = intrinsic(_turn)
score_turned: Final[Any] = intrinsic(_score_turned)


def _summed(builder: ir.IRBuilder, queries: Sequence[Any], block: Any, width: Any) -> list[Any]:
    """Build the scores of each query with a block of keys."""
    whole, sums = whole_vectors(builder, width), list[tuple[int, list[Any]]]()
    for pair in _PAIRS:
        one, other = _lane_sums(builder, queries, block, whole, pair)
        level, found = 0, [builder.fadd(a, b) for a, b in zip(one, other, strict=True)]
        while sums and sums[-1][0] == level:
            level, found = level + 1, [builder.fadd(a, b) for a, b in zip(sums.pop()[1], found, strict=True)]
        sums.append((level, found))
    totals = [cgutils.alloca_once_value(builder, each) for each in sums[0][1]]
    with loop(builder, whole, width, 1) as i:
        _add_products(builder, queries, block, i, totals)
    return [builder.load(total) for total in totals]


def _lane_sums(
    builder: ir.IRBuilder, queries: Sequence[Any], block: Any, whole: Any, lanes: Sequence[int]
) -> list[list[Any]]:
    """Build the sums that `floats.score` has in some lanes: for each lane, one for each query."""
    totals = [[cgutils.alloca_once(builder, VECTOR) for _ in queries] for _ in lanes]
    for of_lane in totals:
        for total in of_lane:
            builder.store(zero(), total)
    with loop(builder, constant(0), whole, LANES) as i:
        for lane, of_lane in zip(lanes, totals, strict=True):
            _add_products(builder, queries, block, builder.add(i, constant(lane)), of_lane)
    return [[builder.load(total) for total in of_lane] for of_lane in totals]


def _add_products(builder: ir.IRBuilder, queries: Sequence[Any], block: Any, i: Any, totals: Sequence[Any]) -> None:
    """Add the products of number i of each query and of the keys."""
    keys = load(builder, block, builder.mul(i, constant(TURNED)))
    for query, total in zip(queries, totals, strict=True):
        own = broadcast(builder, builder.load(builder.gep(query, [i])))
        builder.store(fma(builder, own, keys, builder.load(total)), total)


def _transposed(builder: ir.IRBuilder, rows: list[Any]) -> list[Any]:
    """Transpose as many vectors as each has lanes: halves are exchanged between rows, then quarters, and so on."""
    distance = LANES // 2
    while distance:
        left = [lane if lane & distance == 0 else lane - distance + LANES for lane in range(LANES)]
        right = [lane + distance if lane & distance == 0 else lane + LANES for lane in range(LANES)]
        for n in range(LANES):
            if n & distance == 0:
                rows[n], rows[n + distance] = shuffled(builder, rows[n], rows[n + distance], (left, right))
        distance //= 2
    return rows


def _store(builder: ir.IRBuilder, row: Any, to: Any, i: Any) -> None:
    builder.store(row, pointer_to(builder, to, builder.mul(i, constant(TURNED)), VECTOR), align=4)
