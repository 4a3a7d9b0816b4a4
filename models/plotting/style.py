"""How pictures look, and how they come into files: without a display, and the same bytes from the same data."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of Okabe and Ito, which colour-blind people tell apart."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
SHADES: Final = "Blues"
"""From white, one colour, so that only lightness counts."""

_METADATA: Final[dict[str, dict[str, None]]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


@contextmanager
def styled() -> Iterator[None]:
    """Everything that is drawn and saved inside the block has the style of this project."""
    with rc_context(
        {
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
    ):
        yield


def panels(count: int, width: float, height: float) -> tuple[Figure, Sequence[Axes]]:
    """A figure with so many panels side by side, two rows from four on; sizes of a panel in inches."""
    columns = count if count < 4 else -(-count // 2)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    axes = [figure.add_subplot(rows, columns, number + 1) for number in range(count)]
    return figure, axes


def looks(count: int) -> list[tuple[str, str]]:
    """A colour and a marker for each of so many series."""
    pairs = zip(cycle(COLOURS), cycle(MARKERS), range(count), strict=False)
    return [(colour, marker) for colour, marker, _ in pairs]


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, below them."""
    handles = {
        label: handle for panel in axes for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 4))


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and as SVG.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{name}.{kind}" for kind in _METADATA]
    for file, metadata in zip(files, _METADATA.values(), strict=True):
        figure.savefig(file, metadata=metadata)
    return files
