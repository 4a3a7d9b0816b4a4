"""How pictures look and how they are saved: without a display, and with the same bytes for the same data."""

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ticker import LogFormatter

from models.data.whole import write_whole

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, which colour-blind people can tell apart."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
SHADES: Final = "Blues"
"""From white to one colour, so that only lightness matters."""
_FONT: Final = "DejaVu Sans"
"""Ships with matplotlib, so it is the same everywhere."""
_EAST_ASIAN: Final = (
    "Noto Sans CJK JP",
    "Noto Sans JP",
    "Source Han Sans JP",
    "IPAexGothic",
    "IPAGothic",
    "TakaoGothic",
    "VL Gothic",
    "Hiragino Sans",
    "Yu Gothic",
    "MS Gothic",
    "WenQuanYi Zen Hei",
)
"""Fonts with the characters that it lacks, in order of preference."""
_MISSING: Final = re.compile(r"Glyph (\d+) .* missing from font")
"""matplotlib's warning, which it repeats each time that it draws such a character."""

_STYLE: Final[dict[Any, Any]] = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "savefig.dpi": 160,
    "svg.fonttype": "path",
    "text.parse_math": False,  # a $ in the name of a run is just a $
    "svg.hashsalt": "antecedent",
}
_METADATA: Final[dict[str, dict[str, None]]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save everything inside the block in the style of this project."""
    with _missing_characters_told_once(), rc_context(_STYLE | {"font.family": _families()}):
        yield


def _families() -> list[str]:
    """Return the fonts to try for a character; one that is not installed would cause a warning for each text."""
    installed = {font.name for font in fontManager.ttflist}
    return [_FONT, *(name for name in _EAST_ASIAN if name in installed)]


@contextmanager
def _missing_characters_told_once() -> Iterator[None]:
    """Report the characters that no font has in one line, rather than in a warning each time that one is drawn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", _MISSING.pattern)
        yield
    missing = set()
    for each in caught:
        if found := _MISSING.match(str(each.message)):
            missing.add(chr(int(found[1])))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        some = "".join(sorted(missing)[:20])
        print(
            f"no font on this machine has {some}, so boxes are drawn instead: install one, such as {_EAST_ASIAN[0]}",
            file=sys.stderr,
        )


class _PlainNumbers(LogFormatter):
    """Labels the same ticks as matplotlib (powers of ten, and more if there are few), but not with formulas."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def scale_logarithmically(axes: Axes) -> None:
    """Make the vertical axis logarithmic."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_PlainNumbers())
    axes.yaxis.set_minor_formatter(_PlainNumbers())


def panels(count: int, width: float, height: float) -> tuple[Figure, Sequence[Axes]]:
    """Make a figure with panels side by side, in two rows from four on; a panel's sizes are in inches."""
    columns = count if count < 4 else -(-count // 2)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(count)]
    return figure, axes


def looks(count: int) -> list[tuple[str, str]]:
    """Return a colour and a marker for each series; once the colours are used up, they recur with other markers."""
    rounds = (divmod(number, len(COLOURS)) for number in range(count))
    return [(COLOURS[place], MARKERS[(place + turn) % len(MARKERS)]) for turn, place in rounds]


def legend(figure: Figure, handles: Mapping[str, Artist]) -> None:
    """Add one legend for all panels, below them.

    Labels are passed explicitly because matplotlib ignores an artist's own label if it begins with an underscore. The
    legend has up to four columns, as many as fit in the figure's width. The figure grows by all of its rows but one:
    many of them would leave no room for the panels.
    """
    for columns in range(min(len(handles), 4), 0, -1):
        shown = figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)
        size = shown.get_window_extent()
        if columns == 1 or size.width <= figure.bbox.width:
            rows = -(-len(handles) // columns)
            figure.set_figheight(figure.get_figheight() + size.height / figure.dpi * (1 - 1 / rows))
            return
        shown.remove()


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG.

    Raises:
        OSError: it cannot be written; the previous files are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in _METADATA.items():
        drawn = BytesIO()
        figure.savefig(drawn, format=kind, metadata=metadata)
        files.append(folder / f"{name}.{kind}")
        write_whole(files[-1], [drawn.getvalue()])
    return files
