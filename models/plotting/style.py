"""How pictures look, and how they come into files: without a display, and the same bytes from the same data."""

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
"""Of Okabe and Ito, which colour-blind people tell apart."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
SHADES: Final = "Blues"
"""From white, one colour, so that only lightness counts."""
_FONT: Final = "DejaVu Sans"
"""matplotlib's own, the same everywhere."""
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
"""Fonts that have what it lacks; the first that is installed is asked first."""
_MISSING: Final = re.compile(r"Glyph (\d+) .* missing from font")
"""What matplotlib says of a character, each time that it draws it."""

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
    "text.parse_math": False,  # a $ in the name of a run is a $
    "svg.hashsalt": "antecedent",
}
_METADATA: Final[dict[str, dict[str, None]]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@contextmanager
def styled() -> Iterator[None]:
    """Everything that is drawn and saved inside the block has the style of this project."""
    with _missing_characters_told_once(), rc_context(_STYLE | {"font.family": _families()}):
        yield


def _families() -> list[str]:
    """Where a character is looked for, one after the other; of a font that is not installed each text would warn."""
    installed = {font.name for font in fontManager.ttflist}
    return [_FONT, *(name for name in _EAST_ASIAN if name in installed)]


@contextmanager
def _missing_characters_told_once() -> Iterator[None]:
    """Say in a line which characters no font has, in place of a warning for each time that one is drawn."""
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
    """Labels what matplotlib would: powers of ten, and more where there are few; but not by formulas, as it does."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def scale_logarithmically(axes: Axes) -> None:
    """Let the vertical axis be logarithmic."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_PlainNumbers())
    axes.yaxis.set_minor_formatter(_PlainNumbers())


def panels(count: int, width: float, height: float) -> tuple[Figure, Sequence[Axes]]:
    """A figure with so many panels side by side, two rows from four on; sizes of a panel in inches."""
    columns = count if count < 4 else -(-count // 2)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(count)]
    return figure, axes


def looks(count: int) -> list[tuple[str, str]]:
    """A colour and a marker for each of so many series: once the colours are used up, with other markers each."""
    rounds = (divmod(number, len(COLOURS)) for number in range(count))
    return [(COLOURS[place], MARKERS[(place + turn) % len(MARKERS)]) for turn, place in rounds]


def legend(figure: Figure, handles: Mapping[str, Artist]) -> None:
    """One legend for all panels, below them: what has which look.

    By name, as a label of matplotlib's own that begins with an underscore would be none. There are four columns, or as
    many as the figure is wide enough for.
    """
    for columns in range(min(len(handles), 4), 0, -1):
        shown = figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)
        figure.draw_without_rendering()
        if columns == 1 or shown.get_window_extent().width <= figure.bbox.width:
            return
        shown.remove()


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG.

    Raises:
        OSError: it cannot be written; what was there before stands.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in _METADATA.items():
        drawn = BytesIO()
        figure.savefig(drawn, format=kind, metadata=metadata)
        files.append(folder / f"{name}.{kind}")
        write_whole(files[-1], [drawn.getvalue()])
    return files
