"""Building blocks of loops over floats, written for LLVM directly, with vectors of as many lanes as the CPU has.

Numba's own loops first check their length and what they read, and the order of their sums depends on where they are
inlined.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils

from models.kernels.machine import LANES

_INDEX, _PLACE = ir.IntType(32), ir.IntType(64)
_PLACES: Final = ir.VectorType(_PLACE, LANES)
FLOAT: Final = ir.FloatType()
VECTOR: Final = ir.VectorType(FLOAT, LANES)
HALVES: Final = ir.VectorType(ir.HalfType(), LANES)
_BITS: Final = ir.IntType(16)
SIDE_BY_SIDE: Final = 4
"""Vectors that are summed at once."""


def given(
    context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any, arrays: Sequence[int], numbers: Sequence[int]
) -> tuple[list[Any], list[Any]]:
    """Return where the given arrays begin, and the given numbers in 64 bits."""
    kinds = signature.args
    data = [context.make_array(kinds[n])(context, builder, arguments[n]).data for n in arrays]
    return data, [context.cast(builder, arguments[n], kinds[n], types.intp) for n in numbers]


@contextmanager
def rest(builder: ir.IRBuilder, first: Any, end: Any) -> Iterator[Any]:
    """Run what is built inside if a part of a vector is left over; yield which lanes it fills."""
    with builder.if_then(builder.icmp_signed("<", first, end)):
        left = broadcast(builder, builder.sub(end, first), _PLACES)
        yield builder.icmp_signed("<", ir.Constant(_PLACES, list(range(LANES))), left)


def load_masked(builder: ir.IRBuilder, data: Any, index: Any, lanes: Any) -> Any:
    """Load some lanes of a vector; the others, which may lie beyond the end of the array, are zero."""
    given = pointer_to(builder, data, index, VECTOR), ir.Constant(_INDEX, 4), lanes, zero()
    return call_llvm(builder, f"masked.load.v{LANES}f32.p0", VECTOR, *given)


def store_masked(builder: ir.IRBuilder, numbers: Any, data: Any, index: Any, lanes: Any) -> None:
    """Store some lanes of a vector in an array."""
    given = numbers, pointer_to(builder, data, index, VECTOR), ir.Constant(_INDEX, 4), lanes
    call_llvm(builder, f"masked.store.v{LANES}f32.p0", ir.VoidType(), *given)


@contextmanager
def loop(builder: ir.IRBuilder, first: Any, end: Any, step: int) -> Iterator[Any]:
    """Run what is built inside for every `step`-th index from `first` up to `end`; yield the index."""
    with cgutils.for_range_slice(builder, first, end, constant(step), _PLACE) as (i, _):
        yield i


def whole_vectors(builder: ir.IRBuilder, width: Any) -> Any:
    """Round a number of floats down to whole vectors."""
    return builder.and_(width, constant(-LANES))


def replace(builder: ir.IRBuilder, data: Any, total: Any, of: Callable[[Any], Any]) -> None:
    """Replace the first `total` numbers of an array by a lane-wise function of them."""
    whole = whole_vectors(builder, total)
    with loop(builder, constant(0), whole, LANES) as i:
        found = of(load(builder, data, i))
        builder.store(found, pointer_to(builder, data, i, found.type), align=4)
    with rest(builder, whole, total) as lanes:
        store_masked(builder, of(load_masked(builder, data, whole, lanes)), data, whole, lanes)


def load(builder: ir.IRBuilder, data: Any, index: Any, kind: Any = VECTOR) -> Any:
    """Load a vector, or one float, from an array of floats or of the bits of half-precision floats (int16)."""
    if data.type.pointee != _BITS:
        return builder.load(pointer_to(builder, data, index, kind), align=4)
    halves = HALVES.element if kind is FLOAT else HALVES
    return builder.fpext(builder.load(pointer_to(builder, data, index, halves), align=2), kind)


def pointer_to(builder: ir.IRBuilder, data: Any, index: Any, kind: Any) -> Any:
    """Return the address of a vector, or of one float, in an array."""
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def fetch(builder: ir.IRBuilder, place: Any) -> None:
    """Prefetch a line of memory into the cache; an invalid address does no harm."""
    to_read, into_second_cache, of_data = (ir.Constant(_INDEX, number) for number in (0, 2, 1))
    call_llvm(builder, "prefetch.p0", ir.VoidType(), place, to_read, into_second_cache, of_data)


def broadcast(builder: ir.IRBuilder, number: Any, kind: Any = VECTOR) -> Any:
    """Return a vector with a number in every lane, or the number itself if the kind is one float."""
    if kind is FLOAT:
        return number
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INDEX, kind.count), [0] * kind.count))


def fma(builder: ir.IRBuilder, a: Any, b: Any, total: Any) -> Any:
    """Return a b + total, rounded once."""
    return call(builder, "fma", a, b, total)


def call(builder: ir.IRBuilder, name: str, *numbers: Any) -> Any:
    """Call a function of LLVM's on floats, or lane by lane on vectors."""
    kind = numbers[0].type
    return call_llvm(builder, f"{name}.f32" if kind is FLOAT else f"{name}.v{kind.count}f32", kind, *numbers)


def call_llvm(builder: ir.IRBuilder, name: str, result: Any, *arguments: Any) -> Any:
    """Call one of LLVM's own functions (its intrinsics); `result` is the type of what it returns."""
    kind = ir.FunctionType(result, [each.type for each in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}"), arguments)


def summed(builder: ir.IRBuilder, four: Sequence[Any]) -> Any:
    """Return the lane sums of four vectors, side by side: halves are added down to eight lanes, then pairs twice."""
    while four[0].type.count > 8:
        four = [builder.fadd(*halves(builder, each)) for each in four]
    pairs = (0, 2, 8, 10, 4, 6, 12, 14), (1, 3, 9, 11, 5, 7, 13, 15)
    a, b = (builder.fadd(*shuffled(builder, four[n], four[n + 1], pairs)) for n in (0, 2))
    return builder.fadd(*halves(builder, builder.fadd(*shuffled(builder, a, b, pairs))))


def halves(builder: ir.IRBuilder, vector: Any) -> Sequence[Any]:
    """Return the lower and the upper half of a vector."""
    half = vector.type.count // 2
    return shuffled(builder, vector, vector, (range(half), range(half, 2 * half)))


def shuffled(builder: ir.IRBuilder, a: Any, b: Any, lanes: Sequence[Sequence[int]]) -> Sequence[Any]:
    """Return vectors of the given lanes of two vectors, where the lanes of `b` are numbered after those of `a`."""
    kinds = [ir.VectorType(_INDEX, len(each)) for each in lanes]
    return [
        builder.shuffle_vector(a, b, ir.Constant(kind, list(each))) for kind, each in zip(kinds, lanes, strict=True)
    ]


def zero(kind: Any = VECTOR) -> Any:
    """Return 0 as a vector, or as one float."""
    return ir.Constant(kind, 0.0) if kind is FLOAT else number(0.0)


def number(value: float) -> Any:
    """Return a constant vector with a number in every lane."""
    return ir.Constant(VECTOR, [value] * LANES)


def constant(number: int) -> Any:
    """Return a constant index (64 bits)."""
    return ir.Constant(_PLACE, number)
