"""Sums of products of 8-bit integers by the matrix unit of CPUs that have one (AMX): sixteen rows at once.

It multiplies tiles: registers of sixteen rows of 64 bytes. A panel of weights, as laid out in `dots`, is a stack of
tiles, and the sums are the same integers. So the results have the same bits as those of `dots`.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.dots import DEEP, LINE, PANELS, dequantize, lanes, unpacked
from models.kernels.vectors import call_llvm, constant

ROWS: Final = 16
"""Rows that are multiplied at once."""
_LANES: Final = lanes(vnni=True)
"""Outputs of a panel; their sums are a row of a tile."""
_SUMS: Final = range(PANELS)
_INPUT: Final = PANELS
_WEIGHTS: Final = range(PANELS + 1, 8)
_BYTE, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 32, 64))
_ALL: Final = bytes([1, *[0] * 15, *[DEEP, 0] * 8, *[0] * 16, *[ROWS] * 8, *[0] * 8])
"""The unit's settings: palette 1, and all eight tiles as large as they can be (Intel's manual, LDTILECFG)."""


def _begin(_typing: object) -> Any:
    """For Numba's functions: set up the matrix unit; call this before `dots_of_tiles`."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, _arguments: Any) -> Any:
        settings = cgutils.global_constant(builder, "tiles", cgutils.make_bytearray(_ALL))
        _call(builder, "ldtilecfg", builder.bitcast(settings, _BYTE.as_pointer()))
        return context.get_dummy_value()

    return types.void(), generate


def _end(_typing: object) -> Any:
    """For Numba's functions: release the unit, so that its registers need not be saved when the thread is switched."""

    def generate(context: Any, builder: ir.IRBuilder, _signature: Any, _arguments: Any) -> Any:
        _call(builder, "tilerelease")
        return context.get_dummy_value()

    return types.void(), generate


def _dots_of_tiles(
    _typing: object, x: Any, units: Any, layer: Any, result: Any, row: Any, panel: Any, column: Any, count: Any
) -> Any:
    """Like an operation of `dots`, for `count` <= `ROWS` rows; x must still have `ROWS` rows from `row` on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (x, units, w, *of_layer, result), (first, *of_result, rows) = unpacked(
            context, builder, signature, arguments, 4
        )
        totals = _sums(builder, x.data, w, first, of_result[0])
        with cgutils.for_range(builder, rows, intp=_PLACE) as loop:
            sums = [_vector(builder, total, builder.mul(loop.index, constant(_LANES))) for total in totals]
            row = builder.add(first, loop.index)
            dequantize(builder, sums, (units, *of_layer, result), (row, *of_result))
        return context.get_dummy_value()

    return types.void(x, units, layer, result, row, panel, column, count), generate


begin: Final[Any] = intrinsic(_begin)
end: Final[Any] = intrinsic(_end)
dots_of_tiles: Final[Any] = intrinsic(_dots_of_tiles)


def _sums(builder: ir.IRBuilder, x: Any, w: Any, row: Any, panel: Any) -> list[Any]:
    """Build the sums of products for each panel; return where they are, (ROWS, _LANES) each."""
    length = builder.mul(cgutils.unpack_tuple(builder, w.shape)[1], constant(4))
    inputs = builder.gep(x, [builder.mul(row, length)])
    weights = builder.bitcast(w.data, _BYTE.as_pointer())
    panels = [
        builder.gep(weights, [builder.mul(builder.add(panel, constant(n)), builder.mul(length, constant(_LANES)))])
        for n in _SUMS
    ]
    for n in _SUMS:
        _call(builder, "tilezero", _tile(n))
    with cgutils.for_range_slice(builder, constant(0), length, constant(DEEP), _PLACE) as (deep, _):
        _call(builder, "tileloadd64", _tile(_INPUT), builder.gep(inputs, [deep]), length)
        for n in _SUMS:
            weight = _tile(_WEIGHTS[n % len(_WEIGHTS)])
            there = builder.gep(panels[n], [builder.mul(deep, constant(_LANES))])
            _call(builder, "tileloadd64", weight, there, constant(DEEP))
            _call(builder, "tdpbusd", _tile(n), _tile(_INPUT), weight)
    totals = [cgutils.alloca_once(builder, ir.ArrayType(_WHOLE, ROWS * _LANES)) for _ in _SUMS]
    for n, total in enumerate(totals):
        total.align = LINE
        _call(builder, "tilestored64", _tile(n), builder.bitcast(total, _BYTE.as_pointer()), constant(DEEP))
    return totals


def _call(builder: ir.IRBuilder, name: str, *arguments: Any) -> None:
    call_llvm(builder, f"x86.{name}", ir.VoidType(), *arguments)


def _vector(builder: ir.IRBuilder, total: Any, index: Any) -> Any:
    kind = ir.VectorType(_WHOLE, _LANES)
    start = builder.bitcast(total, _WHOLE.as_pointer())
    return builder.load(builder.bitcast(builder.gep(start, [index]), kind.as_pointer()), align=4)


def _tile(number: int) -> Any:
    return ir.Constant(_BYTE, number)
