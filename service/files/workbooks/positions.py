"""Names of cells and their positions: AB12 is in column AB and row 12."""

import re
from typing import Final

_MOST_COLUMNS: Final = 1_000_000
_CELL: Final = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})")


def next_row(row: str) -> str:
    """Return the row below `row`, or the first; some programs do not number their rows."""
    return str(int(row) + 1) if row.isdecimal() and len(row) < 10 else "1"


def next_cell(cell: str) -> str:
    """Return the cell to the right of a cell, or the first cell of a row; empty if it is neither.

    Some programs do not name their cells.
    """
    column, row = position(cell)
    return cell_at(column + 1, row) if column else f"A{cell}" if cell.isdecimal() else ""


def position(cell: str) -> tuple[int, int]:
    """Return column and row, from 1; 0 and 0 if it is not the name of a cell."""
    if (found := _CELL.fullmatch(cell)) is None:
        return 0, 0
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column, int(found[2])


def cell_at(column: int, row: int) -> str:
    """Return the name of a cell."""
    return f"{_letters(column)}{row}"


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


class Filled:
    """Cells filled by array formulas in other cells, which are read before the cells that they fill."""

    def __init__(self) -> None:
        self._until: dict[int, int] = {}
        """For each column, the last row that is filled."""
        self._room = _MOST_COLUMNS

    def add(self, cells: str) -> None:
        """Add the cells that a formula fills, such as A1:B3."""
        begin, _, end = cells.partition(":")
        (first, _), (last, row) = position(begin), position(end or begin)
        self._room -= last - first + 1
        if self._room > 0:
            for column in range(first, last + 1):
                self._until[column] = max(row, self._until.get(column, 0))

    def __contains__(self, cell: str) -> bool:
        """Return whether a cell is one of them, or there are too many to tell."""
        column, row = position(cell)
        return row <= self._until.get(column, 0) or self._room <= 0
