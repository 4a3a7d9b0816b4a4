"""Sums of products of 8-bit integers by the matrix unit of CPUs that have one (AMX): up to 32 rows at once.

It multiplies tiles: registers of sixteen rows of 64 bytes. A panel of weights, as laid out in `dots`, is a stack of
tiles, and the sums are the same integers. So the results have the same bits as those of `dots`.

Two panels are multiplied with two tiles of inputs: weights, which come from afar, are then loaded once for 32 rows.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.dots import DEEP, LINE, dequantize, lanes, of_panels, unpacked
from models.kernels.vectors import call_llvm, constant

ROWS: Final = 16
"""Rows of a tile."""
BLOCKS: Final = 2
"""Tiles of inputs that are multiplied at once."""
PAIR: Final = 2
"""Panels that are multiplied at once; `dots.PANELS` is a multiple of it."""
_LANES: Final = lanes(vnni=True)
"""Outputs of a panel; their sums are a row of a tile."""
_SUMS: Final = [[BLOCKS * n + block for block in range(BLOCKS)] for n in range(PAIR)]
_INPUTS: Final = range(BLOCKS * PAIR, BLOCKS * PAIR + BLOCKS)
_WEIGHTS: Final = range(_INPUTS.stop, _INPUTS.stop + PAIR)
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
    """Like an operation of `dots`, for `PAIR` panels and `count` rows, at most `BLOCKS` x `ROWS`.

    From `row` on, x must have all rows of the tiles that it takes.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (x, units, w, start, *of_outputs, result), (first, panel, column, rows) = unpacked(
            context, builder, signature, arguments, 4
        )
        totals = [cgutils.alloca_once(builder, ir.ArrayType(_WHOLE, BLOCKS * ROWS * _LANES)) for _ in range(PAIR)]
        for total in totals:
            total.align = LINE
        with builder.if_else(builder.icmp_signed(">", rows, constant(ROWS))) as cases:
            for blocks, case in zip((BLOCKS, 1), cases, strict=True):
                with case:
                    _sum_up(builder, (x, w, start), (first, panel), blocks, totals)
        outputs = [of_panels(builder, each, panel, PAIR, _LANES) for each in of_outputs]
        with cgutils.for_range(builder, rows, intp=_PLACE) as loop:
            sums = [_vector(builder, total, builder.mul(loop.index, constant(_LANES))) for total in totals]
            dequantize(builder, sums, units, outputs, result, (builder.add(first, loop.index), column))
        return context.get_dummy_value()

    return types.void(x, units, layer, result, row, panel, column, count), generate


begin: Final[Any] = intrinsic(_begin)
end: Final[Any] = intrinsic(_end)
dots_of_tiles: Final[Any] = intrinsic(_dots_of_tiles)


def _sum_up(builder: ir.IRBuilder, arrays: Any, first: Any, blocks: int, totals: list[Any]) -> None:
    """Build the sums of products of some tiles' rows for each panel, and store them in `totals`, (rows, _LANES) each.

    Args:
        builder: of the function.
        arrays: x, w and start, as for `dots`.
        first: the first row and panel.
        blocks: how many tiles of inputs.
        totals: one for each panel.
    """
    (x, w, start), (row, panel) = arrays, first
    length = builder.mul(cgutils.unpack_tuple(builder, w.shape)[1], constant(4))
    inputs = [
        builder.gep(x.data, [builder.mul(builder.add(row, constant(block * ROWS)), length)]) for block in range(blocks)
    ]
    weights, starts = builder.bitcast(w.data, _BYTE.as_pointer()), builder.bitcast(start.data, _BYTE.as_pointer())
    numbers = [builder.add(panel, constant(n)) for n in range(PAIR)]
    panels = [builder.gep(weights, [builder.mul(n, builder.mul(length, constant(_LANES)))]) for n in numbers]
    for n, sums in zip(numbers, _SUMS, strict=True):
        of_panel = builder.gep(starts, [builder.mul(n, constant(4 * _LANES))])
        for sum_ in sums[:blocks]:  # without a step from row to row, all have the same numbers
            _load(builder, sum_, of_panel, constant(0))
    with cgutils.for_range_slice(builder, constant(0), length, constant(DEEP), _PLACE) as (deep, _):
        _multiply(builder, inputs, panels, deep, length)
    for total, sums in zip(totals, _SUMS, strict=True):
        to = builder.bitcast(total, _BYTE.as_pointer())
        for block, sum_ in enumerate(sums[:blocks]):
            there = builder.gep(to, [constant(4 * block * ROWS * _LANES)])
            _call(builder, "tilestored64", _tile(sum_), there, constant(DEEP))


def _multiply(builder: ir.IRBuilder, inputs: list[Any], panels: list[Any], deep: Any, length: Any) -> None:
    """Add the products of a tile of each block of rows with one of each panel, from number `deep` of an input on."""
    for n, (panel, weight) in enumerate(zip(panels, _WEIGHTS, strict=True)):
        _load(builder, weight, builder.gep(panel, [builder.mul(deep, constant(_LANES))]), constant(DEEP))
        for row, x, sum_ in zip(inputs, _INPUTS, _SUMS[n], strict=False):
            if n == 0:
                _load(builder, x, builder.gep(row, [deep]), length)
            _call(builder, "tdpbusd", _tile(sum_), _tile(x), _tile(weight))


def _load(builder: ir.IRBuilder, tile: int, first: Any, step: Any) -> None:
    """Load a tile whose rows lie `step` bytes apart."""
    _call(builder, "tileloadd64", _tile(tile), first, step)


def _call(builder: ir.IRBuilder, name: str, *arguments: Any) -> None:
    call_llvm(builder, f"x86.{name}", ir.VoidType(), *arguments)


def _vector(builder: ir.IRBuilder, total: Any, index: Any) -> Any:
    kind = ir.VectorType(_WHOLE, _LANES)
    start = builder.bitcast(total, _WHOLE.as_pointer())
    return builder.load(builder.bitcast(builder.gep(start, [index]), kind.as_pointer()), align=4)


def _tile(number: int) -> Any:
    return ir.Constant(_BYTE, number)
