"""One function for each kind of picture: data in, a figure out. Knows nothing of models and files."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from models.data.replacement import ContextKind
from models.plotting.attention import AttentionMap
from models.plotting.context_kinds import Figure as Compared
from models.plotting.context_kinds import Outcome
from models.plotting.context_sizes import Figure as Measured
from models.plotting.context_sizes import Series
from models.plotting.curves import FIGURES, Curve
from models.plotting.gates import GateValues
from models.plotting.style import COLOURS, SHADES, legend, looks, panels

_CURVES: Final = {
    # The training objective is not the dev loss, so the two panels cannot be compared.
    "train/loss": ("training objective\nwith label smoothing and dropout", "nats a token"),
    "dev/loss": ("dev loss", "nats a token"),
    "dev/bleu": ("dev BLEU", "BLEU"),
    "dev/contrastive": ("contrastive accuracy", "share of items right"),
}
_MEASURED: Final[dict[Measured, tuple[str, str]]] = {
    "bleu": ("translation", "BLEU"),
    "accuracy": ("pronouns", "contrastive accuracy"),
}
_COMPARED: Final[dict[Compared, str]] = {
    "loss": "loss, nats a token (less is better)",
    "bleu": "BLEU",
    "macro": "pronouns: mean accuracy of the classes",
}
_SHARE: Final = PercentFormatter(xmax=1, decimals=0)
_FINE_SHARE: Final = PercentFormatter(xmax=1, decimals=1)


def draw_attention(maps: Sequence[AttentionMap], title: str) -> Figure:
    """Draw where each sentence's attention goes; a row is a current sentence and adds up to 100 %."""
    count = len(maps[0].shares)
    side = min(7.0, max(3.2, 0.16 * count + 1.6))
    figure, axes = panels(len(maps), side, side)
    # One scale for all panels, from zero to the largest share, so that their shades can be compared.
    largest = max(max(row) for each in maps for row in each.shares)
    for panel, each in zip(axes, maps, strict=True):
        shares = np.array(each.shares)
        # What is not read at all is grey; a small share is nearly white.
        image = panel.imshow(
            np.ma.masked_equal(shares, 0.0),
            cmap=SHADES,
            vmin=0,
            vmax=largest,
            extent=(0.5, count + 0.5, count + 0.5, 0.5),
        )
        panel.set_facecolor("#DDDDDD")
        panel.set(title=each.part, xlabel="attended sentence", ylabel="current sentence")
        panel.grid(visible=False)
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    bar = figure.colorbar(image, ax=list(axes), format=_SHARE, shrink=0.8)
    bar.set_label("share of attention\n(grey: not read)")
    figure.suptitle(title)
    return figure


def draw_layer_weights(weights: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Draw what each layer contributes to the mixture, with the figures on the bars."""
    longest = max(map(len, weights.values()))
    figure, axes = panels(len(weights), max(3.6, 0.55 * longest + 1.4), 3.6)
    shown: dict[str, Artist] = {}
    for panel, (side, shares), colour in zip(axes, weights.items(), COLOURS, strict=False):
        bars = panel.bar(range(len(shares)), shares, color=colour, width=0.7)
        panel.bar_label(bars, [f"{100 * share:.1f}" for share in shares], padding=2, fontsize=9)
        shown["evenly"] = panel.axhline(1 / len(shares), color="#555555", linewidth=1, linestyle="--")
        panel.yaxis.set_major_formatter(_SHARE)
        panel.grid(visible=False, axis="x")
        panel.margins(y=0.15)
        panel.set(title=f"{side} context", xlabel="layer (0: embeddings)", ylabel="weight in the mixture")
        panel.set_xticks(range(len(shares)))
    legend(figure, shown)
    figure.suptitle(title)
    return figure


def draw_gates(gates: Sequence[GateValues], title: str) -> Figure:
    """Draw mean and spread of each layer's gate: a thick line for half of all values, a thin one for nine tenths."""
    figure, (panel,) = panels(1, 7.0, 0.36 * len(gates) + 2.2)
    rows = range(len(gates))
    lowest, low, high, highest = np.array([gate.quantiles for gate in gates]).T
    shown: dict[str, Artist] = {
        "5 to 95 %": panel.hlines(rows, lowest, highest, color=COLOURS[0], linewidth=1.5),
        "25 to 75 %": panel.hlines(rows, low, high, color=COLOURS[5], linewidth=7),
    }
    (shown["mean"],) = panel.plot([gate.mean for gate in gates], rows, "o", color=COLOURS[1])
    panel.set_yticks(rows, [f"{gate.part}, layer {gate.layer}" for gate in gates])
    panel.set(title=title, xlabel="weight of the context, over tokens and units", xlim=(0, 1))
    panel.set_ylim(len(gates) - 0.5, -0.5)
    panel.xaxis.set_major_formatter(_SHARE)
    panel.grid(visible=False, axis="y")
    legend(figure, shown)
    return figure


def draw_series(series: Sequence[Series]) -> Figure:
    """Draw BLEU and accuracy against the number of context sentences, a line for each system."""
    systems = list(dict.fromkeys(each.system for each in series))
    look = dict(zip(systems, looks(len(systems)), strict=True))
    measured = [figure for figure in _MEASURED if any(each.figure == figure for each in series)]
    figure, axes = panels(len(measured), 5.2, 3.8)
    shown: dict[str, Artist] = {}
    for panel, name in zip(axes, measured, strict=True):
        for each in (each for each in series if each.figure == name):
            colour, marker = look[each.system]
            if each.sentences == [0]:
                # A system without context is a horizontal line to compare the others with.
                panel.axhline(each.values[0], color=colour, linestyle="--")
            (shown[each.system],) = panel.plot(each.sentences, each.values, color=colour, marker=marker)
        title, unit = _MEASURED[name]
        panel.set(title=title, xlabel="context sentences", ylabel=unit)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        if name == "accuracy":
            panel.yaxis.set_major_formatter(_FINE_SHARE)
    legend(figure, shown)
    return figure


def draw_kinds(outcomes: Sequence[Outcome]) -> Figure:
    """Draw a panel for each figure, with a line for each system and on it a mark for each kind of context."""
    systems = list(dict.fromkeys(each.system for each in outcomes))
    kinds = [kind for kind in get_args(ContextKind) if any(each.context == kind for each in outcomes)]
    look = dict(zip(kinds, looks(len(kinds)), strict=True))
    measured = [figure for figure in _COMPARED if any(each.figure == figure for each in outcomes)]
    figure, axes = panels(len(measured), 5.2, 0.4 * len(systems) + 2.2)
    shown: dict[str, Artist] = {}
    for panel, name in zip(axes, measured, strict=True):
        for kind, (colour, marker) in look.items():
            of_kind = [each for each in outcomes if (each.figure, each.context) == (name, kind)]
            rows = [systems.index(each.system) for each in of_kind]
            (shown[kind],) = panel.plot([each.value for each in of_kind], rows, marker, color=colour, alpha=0.85)
        panel.set_yticks(range(len(systems)), systems)
        panel.set_ylim(len(systems) - 0.5, -0.5)
        panel.set(xlabel=_COMPARED[name])
        panel.xaxis.set_major_locator(MaxNLocator(nbins=6))  # a loss has many digits
        if name == "macro":
            panel.xaxis.set_major_formatter(_FINE_SHARE)
    for panel in axes[1:]:
        panel.tick_params(labelleft=False)
    legend(figure, shown)
    return figure


def draw_curves(curves: Sequence[Curve]) -> Figure:
    """Draw figures over updates, a panel for each figure and a line for each run."""
    runs = list(dict.fromkeys(curve.run for curve in curves))
    look = dict(zip(runs, looks(len(runs)), strict=True))
    drawn = [name for name in FIGURES if any(curve.figure == name for curve in curves)]
    figure, axes = panels(len(drawn), 4.6, 3.4)
    shown: dict[str, Artist] = {}
    for panel, name in zip(axes, drawn, strict=True):
        for curve in (curve for curve in curves if curve.figure == name):
            colour, marker = look[curve.run]
            marked = len(curve.updates) <= 25 or len(runs) > len(COLOURS)
            mark = marker if marked else None
            (shown[curve.run],) = panel.plot(curve.updates, curve.values, color=colour, marker=mark)
        title, unit = _CURVES[name]
        panel.set(title=title, xlabel="update", ylabel=unit)
        panel.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        if name == "dev/contrastive":
            panel.yaxis.set_major_formatter(_FINE_SHARE)
    legend(figure, shown)
    return figure
