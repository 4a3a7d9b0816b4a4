"""Plots as pictures in the project's style."""

from io import StringIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from loadtests.report.report import Plot
from models.plotting.style import COLOURS, scale_logarithmically, styled

_INCHES = (9, 3.2)
_SHADE, _LINE_OF_MARK = "#EEDDCC", "#888888"


def svg(plot: Plot) -> str:
    """Return a plot as an SVG element for an HTML page."""
    with styled():
        figure = Figure(figsize=_INCHES)
        _draw(figure.add_subplot(), plot)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _draw(axes: Axes, plot: Plot) -> None:
    for span in plot.spans:
        axes.axvspan(span.began, max(span.ended, span.began), color=_SHADE, lw=0)
        axes.text(span.began, 1.0, span.name, transform=axes.get_xaxis_transform(), rotation=20, fontsize=7)
    for (name, points), colour in zip(plot.lines.items(), COLOURS, strict=False):
        axes.plot(*zip(*points, strict=True), label=name, color=colour, marker="o" if len(points) < 20 else None)
    for name, height in plot.marks.items():
        axes.axhline(height, color=_LINE_OF_MARK, linestyle="--", linewidth=1, label=name)
    axes.set(xlabel=plot.x_label, ylabel=plot.y_label)
    axes.set_title(plot.title, loc="left", pad=28 if plot.spans else 6)
    if plot.logarithmic:
        scale_logarithmically(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
