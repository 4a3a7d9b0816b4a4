"""Products of 8-bit integers by the matrix unit of CPUs that have one (AMX): up to 32 rows at once.

It multiplies tiles: registers of sixteen rows of 64 bytes. A panel of weights, as laid out in `dots`, is a stack of
tiles, and the sums are the same integers. So the results have the same bits as those of `dots`.

Two panels are multiplied with two tiles of inputs: weights, which come from afar, are then loaded once for 32 rows.
Their sums are scaled back to floats while the next ones are computed, since vectors and tiles are units of their own.
"""

# mypy: disable-error-code="no-untyped-call"
# ruff: noqa: ANN401 - neither package says what its types are

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from models.kernels.dots import DEEP, FOUR, LINE, dequantize, lanes, of_panels, unpacked
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
_OF_PANEL: Final = BLOCKS * ROWS * _LANES
_BYTE, _WHOLE, _PLACE = (ir.IntType(bits) for bits in (8, 32, 64))
_ALL: Final = bytes([1, *[0] * 15, *[DEEP, 0] * 8, *[0] * 16, *[ROWS] * 8, *[0] * 8])
"""The unit's settings: palette 1, and all eight tiles as large as they can be (Intel's manual, LDTILECFG)."""


def _product_of_tiles(
    _typing: object, x: Any, units: Any, layer: Any, result: Any, count: Any, first: Any, panels: Any
) -> Any:
    """For Numba's functions: the first `count` rows of x times panels of w, scaled back to floats.

    The first four arguments are those of an operation of `dots`, except that x has all rows of the tiles that are
    read, however few are used. The panels, from `first` on, are a multiple of `PAIR`; the columns of `result` are
    theirs alone.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        (x, units, w, start, *of_outputs, result), (count, first, panels) = unpacked(
            context, builder, signature, arguments, 3
        )
        settings = cgutils.global_constant(builder, "tiles", cgutils.make_bytearray(_ALL))
        _call(builder, "ldtilecfg", builder.bitcast(settings, _BYTE.as_pointer()))
        steps = builder.udiv(cgutils.unpack_tuple(builder, w.shape)[1], constant(DEEP // FOUR))
        sums = _Sums(builder, (units, of_outputs, result), first, steps)
        over_panels = cgutils.for_range_slice(builder, first, builder.add(first, panels), constant(PAIR), _PLACE)
        over_rows = cgutils.for_range_slice(builder, constant(0), count, constant(BLOCKS * ROWS), _PLACE)
        with over_panels as (panel, _), over_rows as (row, _):
            left = builder.sub(count, row)
            with builder.if_else(builder.icmp_signed(">", left, constant(ROWS))) as cases:
                for blocks, case in zip((BLOCKS, 1), cases, strict=True):
                    with case:
                        _sum_up(builder, (x, w, start), (row, panel), blocks, sums)
            sums.are_of(row, panel, left)
        sums.scale_back_rest()
        _call(builder, "tilerelease")  # so that the unit's registers need not be saved when the thread is switched
        return context.get_dummy_value()

    return types.void(x, units, layer, result, count, first, panels), generate


product_of_tiles: Final[Any] = intrinsic(_product_of_tiles)


class _Sums:
    """Sums that are in memory and wait to be scaled back: none at first, then those of some rows and `PAIR` panels."""

    def __init__(self, builder: ir.IRBuilder, given: tuple[Any, Any, Any], first: Any, steps: Any) -> None:
        """Build what is known of them.

        Args:
            builder: of the function.
            given: units, the scales and biases, and result, as for `dots`.
            first: the panel whose outputs are the first columns of the result.
            steps: in how many steps other sums are computed meanwhile.
        """
        self._builder, self._given, self._first = builder, given, first
        self._share = builder.udiv(builder.add(steps, constant(BLOCKS * ROWS - 1)), steps)
        self._memory = cgutils.alloca_once(builder, ir.ArrayType(_WHOLE, 2 * PAIR * _OF_PANEL))
        self._memory.align = LINE
        self._half = cgutils.alloca_once_value(builder, constant(0))
        self._row, self._count, self._done = (cgutils.alloca_once_value(builder, constant(0)) for _ in range(3))
        self._panel = cgutils.alloca_once_value(builder, first)

    def room(self, panel: int, block: int) -> Any:
        """Return where a tile's next sums can be put: in the half of the memory in which none are."""
        return self._at(self._builder.add(self._other(), constant(panel * _OF_PANEL + block * ROWS * _LANES)), _BYTE)

    def are_of(self, row: Any, panel: Any, left: Any) -> None:
        """Say that they are now those in the other half, of at most `BLOCKS` tiles of the rows that are left."""
        count = self._smaller(left, constant(BLOCKS * ROWS))
        values = self._other(), row, count, constant(0), panel
        for value, to in zip(values, (self._half, self._row, self._count, self._done, self._panel), strict=True):
            self._builder.store(value, to)

    def outputs(self) -> list[Any]:
        """Load the scales and the biases of their panels."""
        return [of_panels(self._builder, each, self._load(self._panel), PAIR, _LANES) for each in self._given[1]]

    def scale_back(self, outputs: Any, most: Any = None) -> None:
        """Scale back some more rows: `most`, or as many as each step has to."""
        builder, (units, _, result) = self._builder, self._given
        done = self._load(self._done)
        end = self._smaller(builder.add(done, self._share if most is None else most), self._load(self._count))
        column = builder.mul(builder.sub(self._load(self._panel), self._first), constant(_LANES))
        kind = ir.VectorType(_WHOLE, _LANES)
        with cgutils.for_range_slice(builder, done, end, constant(1), _PLACE) as (r, _):
            first = builder.add(self._load(self._half), builder.mul(r, constant(_LANES)))
            places = [self._at(builder.add(first, constant(n * _OF_PANEL)), kind) for n in range(PAIR)]
            sums = [builder.load(each, align=LINE) for each in places]
            dequantize(builder, sums, units, outputs, result, (builder.add(self._load(self._row), r), column))
        builder.store(end, self._done)

    def scale_back_rest(self) -> None:
        """Scale back all that are not done."""
        self.scale_back(self.outputs(), constant(BLOCKS * ROWS))

    def _other(self) -> Any:
        return self._builder.sub(constant(PAIR * _OF_PANEL), self._load(self._half))

    def _at(self, index: Any, kind: Any) -> Any:
        start = self._builder.bitcast(self._memory, _WHOLE.as_pointer())
        return self._builder.bitcast(self._builder.gep(start, [index]), kind.as_pointer())

    def _load(self, place: Any) -> Any:
        return self._builder.load(place)

    def _smaller(self, a: Any, b: Any) -> Any:
        return self._builder.select(self._builder.icmp_signed("<", a, b), a, b)


def _sum_up(builder: ir.IRBuilder, arrays: Any, first: Any, blocks: int, sums: _Sums) -> None:
    """Build the sums of products of some tiles' rows for each panel, and put them where there is room.

    Args:
        builder: of the function.
        arrays: x, w and start, as for `dots`.
        first: the first row and panel.
        blocks: how many tiles of inputs.
        sums: of other rows or panels, which are scaled back meanwhile.
    """
    (x, w, start), (row, panel) = arrays, first
    length = builder.mul(cgutils.unpack_tuple(builder, w.shape)[1], constant(4))
    inputs = [
        builder.gep(x.data, [builder.mul(builder.add(row, constant(block * ROWS)), length)]) for block in range(blocks)
    ]
    weights, starts = builder.bitcast(w.data, _BYTE.as_pointer()), builder.bitcast(start.data, _BYTE.as_pointer())
    numbers = [builder.add(panel, constant(n)) for n in range(PAIR)]
    panels = [builder.gep(weights, [builder.mul(n, builder.mul(length, constant(_LANES)))]) for n in numbers]
    for n, of_panel in zip(numbers, _SUMS, strict=True):
        start_of_panel = builder.gep(starts, [builder.mul(n, constant(4 * _LANES))])
        for sum_ in of_panel[:blocks]:  # without a step from row to row, all have the same numbers
            _load(builder, sum_, start_of_panel, constant(0))
    outputs = sums.outputs()
    with cgutils.for_range_slice(builder, constant(0), length, constant(DEEP), _PLACE) as (deep, _):
        _multiply(builder, inputs, panels, deep, length)
        sums.scale_back(outputs)
    for n, of_panel in enumerate(_SUMS):
        for block, sum_ in enumerate(of_panel[:blocks]):
            _call(builder, "tilestored64", _tile(sum_), sums.room(n, block), constant(DEEP))


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


def _tile(number: int) -> Any:
    return ir.Constant(_BYTE, number)
