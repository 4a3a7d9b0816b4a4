"""Where cells are: AB12 is in the column AB, and in the row 12."""

import re
from typing import Final

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
