"""Speeds of the ways to translate, against the batch size."""

from collections.abc import Sequence
from typing import Final

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from models.benchmark.interleaved import Row
from models.benchmark.lane import Way
from models.plotting.style import legend, looks, panels, scale_logarithmically

NAMES: Final[dict[Way, str]] = {
    "sentence": "CTranslate2, no context",
    "direct": "with context",
    "warm": "with context, states kept",
    "rerank": "chosen with context",
    "eager": "with context, without CUDA graphs",
    "plain": "with context, the plain way",
    "float16": "CTranslate2 in float16, no context",
}


def draw_speeds(rows: Sequence[Row]) -> Figure:
    """Draw tokens per second, a panel for each architecture and beam; thin lines span the slowest to fastest round."""
    shown = list(dict.fromkeys((row.architecture, row.beam) for row in rows))
    look = dict(zip(NAMES, looks(len(NAMES)), strict=True))
    figure, axes = panels(len(shown), 9.0 if len(shown) == 1 else 5.2, 3.8)
    named: dict[str, Artist] = {}
    for panel, (architecture, beam) in zip(axes, shown, strict=True):
        for way, (colour, marker) in look.items():
            of_way = [row for row in rows if (row.architecture, row.beam, row.strategy) == (architecture, beam, way)]
            if of_way:
                batches, speeds = [row.batch for row in of_way], [row.tokens_per_second for row in of_way]
                (named[NAMES[way]],) = panel.plot(batches, speeds, color=colour, marker=marker)
                panel.vlines(
                    batches,
                    [row.slowest for row in of_way],
                    [row.fastest for row in of_way],
                    color=colour,
                    linewidth=1,
                )
        panel.set(title=f"{architecture}, beam {beam}", xlabel="sentences in a batch", ylabel="tokens/s")
        panel.set_xscale("log", base=2)
        panel.set_xticks(sorted({row.batch for row in rows}))
        panel.xaxis.set_major_formatter(ScalarFormatter())
        panel.xaxis.set_minor_formatter(NullFormatter())
        scale_logarithmically(panel)
    legend(figure, named)
    return figure
