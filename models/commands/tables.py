"""Figures of several models, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from models.training.results import Result

_COLUMNS: Final = {
    "model": "{}",
    "context": "{}",
    "context_sentences": "{}",
    "loss": "{:.4f}",
    "bleu": "{:.2f}",
    "chrf": "{:.2f}",
    "document_bleu": "{:.2f}",
    "accuracy": "{:.3f}",
    "macro": "{:.3f}",
    "tokens_per_second": "{:.0f}",
}


def table(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="JSON of evaluate and contrast.", show_default=False)
    ],
) -> None:
    """Print what `evaluate` and `contrast` wrote as one table in Markdown, a line for each model and context."""
    from models.training.results import read_results

    results = read_results(files)
    shown = [name for name in _COLUMNS if any(getattr(result, name) is not None for result in results)]
    for cells in (shown, ["---"] * len(shown), *([_cell(result, name) for name in shown] for result in results)):
        typer.echo(f"| {' | '.join(cells)} |")


def _cell(result: "Result", name: str) -> str:
    value = getattr(result, name)
    return "" if value is None else _COLUMNS[name].format(value)
