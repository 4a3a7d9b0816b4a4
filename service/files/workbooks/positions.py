"""Where cells are: AB12 is in the column AB, and in the row 12."""

import re
from typing import Final

_MOST_COLUMNS: Final = 1_000_000
_CELL: Final = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})")


def next_row(row: str) -> str:
    """The row below one, or the first; some programs do not say where a row is."""
    return str(int(row) + 1) if row.isdecimal() and len(row) < 10 else "1"


def next_cell(cell: str) -> str:
    """The cell beside one, or the first of a row; nor where a cell is. Nothing beside what is none."""
    column, row = position(cell)
    return cell_at(column + 1, row) if column else f"A{cell}" if cell.isdecimal() else ""


def position(cell: str) -> tuple[int, int]:
    """Column and row, from 1; 0 and 0 if it says neither."""
    if (found := _CELL.fullmatch(cell)) is None:
        return 0, 0
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column, int(found[2])


def cell_at(column: int, row: int) -> str:
    """The name of a cell."""
    return f"{_letters(column)}{row}"


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


class Filled:
    """Cells that formulas fill which stand in others; those are read before what they fill."""

    def __init__(self) -> None:
        self._until: dict[int, int] = {}
        """For each column the last row that one fills."""
        self._room = _MOST_COLUMNS

    def add(self, cells: str) -> None:
        """What one fills, as A1:B3."""
        begin, _, end = cells.partition(":")
        (first, _), (last, row) = position(begin), position(end or begin)
        self._room -= last - first + 1
        if self._room > 0:
            for column in range(first, last + 1):
                self._until[column] = max(row, self._until.get(column, 0))

    def __contains__(self, cell: str) -> bool:
        """Whether a cell is one of them, or they are too many to tell."""
        column, row = position(cell)
        return row <= self._until.get(column, 0) or self._room <= 0
