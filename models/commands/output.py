"""How commands show what they have found."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from models.data.whole import write_whole


class _Console(Console):
    """A console that outlives its reader: after `| head` has read enough, a command still has files to write."""

    def on_broken_pipe(self) -> None:
        """Show nothing more, and go on."""
        with suppress(SystemExit):
            super().on_broken_pipe()


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Show rows under a head; what is in brackets or between colons is text of a corpus as well, and no markup."""
    table = Table(*(Column(name, overflow="fold") for name in head), box=box.SIMPLE, show_edge=False, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    _Console().print(table)


def report(figures: dict[str, Any], json_file: Path | None, also: Callable[[], None] | None = None) -> None:
    """Show figures, write them into a file if there is one, and what they are of by `also`.

    Each of both is tried though the other has failed: it may be for another disk.
    """
    print_table(("figure", "value"), [(name, _rounded(value)) for name, value in figures.items()])
    with ExitStack() as both:
        both.callback(write_json, figures, json_file)
        if also is not None:
            both.callback(also)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_rounded(one)}" for name, one in value.items())
    if not isinstance(value, float):
        return value
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"  # a speed has no exponent


def write_json(figures: dict[str, Any], file: Path | None) -> None:
    """Write figures into a file, if there is one."""
    if file is not None:
        write_whole(file, [(json.dumps(figures, indent=1, ensure_ascii=False) + "\n").encode()])


def write_lines(lines: Sequence[str], file: Path) -> None:
    """Write translations into a file, one a line."""
    write_whole(file, [f"{line}\n".encode() for line in lines])
