"""Tables of reStructuredText that are drawn with signs: the texts of their cells, and the same table with others.

With cells that span columns or rows a table is not read, nor if a text is not within its column.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from service.files.restructured.words import Words
from service.segmentation.paragraphs import columns_of

_FILLER: Final = "\0"
"""Behind a character that is as wide as two."""
_COLUMN: Final = re.compile("=+")
_MOST_GROWTH: Final = 20
"""How many times as large as it was a table may become, because texts of many lines are written in one."""
_ENDS_OF_CELLS: Final = frozenset("+|")

Read = Callable[[Sequence[str]], Words | None]
"""Reads the lines of a cell; None for what is no single paragraph with words."""


@dataclass(frozen=True, slots=True)
class _Cell:
    lines: Sequence[str]
    """Without white space around them that all have."""
    words: Words | None

    @property
    def longest(self) -> str:
        """The longest line, if the text has one."""
        return max(self.lines, key=_width_of) if self.words is None else self.words.words


@dataclass(frozen=True, slots=True)
class Table:
    """A table, and how its document has it."""

    was: str
    rows: Sequence[str | Sequence[_Cell]]
    """Cells, or the sign that a line between rows is drawn with."""
    widths: Sequence[int]
    """Columns of characters that each column of the table has."""
    indent: str
    end: str
    """What ends a line."""
    is_grid: bool
    """Whether there are lines between its columns, too."""

    @property
    def words(self) -> list[Words]:
        """The texts that are translated, row by row."""
        return [cell.words for row in self.rows if not isinstance(row, str) for cell in row if cell.words is not None]

    @property
    def width(self) -> int:
        """How wide it is if each text has one line."""
        cells = [row for row in self.rows if not isinstance(row, str)]
        return sum(max(_width_of(cell.longest) for cell in column) for column in zip(*cells, strict=True))

    def written(self, texts: Iterable[str]) -> str:
        """Return what the document has with other texts in place of these."""
        told = [each.written(text or each.words) for each, text in zip(self.words, texts, strict=True)]
        if told == [each.was for each in self.words]:
            return self.was
        others = iter(told)
        rows = [
            row if isinstance(row, str) else [[next(others)] if cell.words is not None else cell.lines for cell in row]
            for row in self.rows
        ]
        cells = [row for row in rows if not isinstance(row, str)]
        widths = [
            max(width, *(_width_of(line) for row in cells for line in row[column]))
            for column, width in enumerate(self.widths)
        ]
        lines = (line for row in rows for line in self._drawn(row, widths))
        return "".join(f"{(self.indent + line).rstrip()}{self.end}" for line in lines)

    def _drawn(self, row: str | Sequence[Sequence[str]], widths: Sequence[int]) -> Iterable[str]:
        if isinstance(row, str):
            if self.is_grid:
                yield f"+{'+'.join(row * (width + 2) for width in widths)}+"
            else:
                yield "  ".join(row * width for width in widths)
            return
        for number in range(max(map(len, row))):
            texts = [cell[number] if number < len(cell) else "" for cell in row]
            padded = [text + " " * (width - _width_of(text)) for text, width in zip(texts, widths, strict=True)]
            yield f"| {' | '.join(padded)} |" if self.is_grid else "  ".join(padded)


def table_of(text: str, read: Read) -> Table | None:
    """Read a table; None if it is not one that is read."""
    lines = text.expandtabs().splitlines()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    if not all(line.startswith(indent) for line in lines if line.strip()):
        return None
    bare = [_padded(line[len(indent) :].rstrip()) for line in lines]
    first, end, _ = text.partition("\n")
    end = "\r" * first.endswith("\r") + end
    is_grid = bare[0].startswith("+")
    rows = _rows_of_grid(bare, read) if is_grid else _rows_of_columns(bare, read)
    widths = [b - a - 3 for a, b in pairwise(_signs(bare[0]))] if is_grid else [b - a for a, b in _columns(bare[0])]
    if not rows or not end:
        return None
    table = Table(text, rows, widths, indent, end, is_grid)
    is_small = table.width * len(lines) <= _MOST_GROWTH * max(len(text), 500)
    return table if is_small else None


def _width_of(text: str) -> int:
    """Return the columns of a text, in which accents and vowels above and below letters take none."""
    return columns_of(text) - (0 if text.isascii() else sum(map(bool, map(unicodedata.combining, text))))


def _padded(line: str) -> str:
    return line if line.isascii() else "".join(each + _FILLER * (columns_of(each) - 1) for each in line)


def _signs(border: str) -> list[int]:
    return [place for place, sign in enumerate(border) if sign == "+"]


def _rows_of_grid(lines: Sequence[str], read: Read) -> list[str | Sequence[_Cell]] | None:
    signs = _signs(lines[0])
    rows: list[str | Sequence[_Cell]] = []
    held: list[str] = []
    for line in lines:
        found = {line[place] for place in signs} if len(line) == len(lines[0]) else set()
        if len(found) != 1 or not found <= _ENDS_OF_CELLS:
            return None
        if found == {"|"}:
            held.append(line)
            continue
        if (line.strip("+-") and line.strip("+=")) or line.count("+") != len(signs):
            return None
        if held:
            rows.append([_cell([each[a + 1 : b] for each in held], read) for a, b in pairwise(signs)])
        rows.append(line[1])
        held = []
    return rows if not held else None


def _columns(rule: str) -> list[tuple[int, int]]:
    return [found.span() for found in _COLUMN.finditer(rule)]


def _rows_of_columns(lines: Sequence[str], read: Read) -> list[str | Sequence[_Cell]] | None:
    columns = _columns(lines[0])
    if len(columns) * len(lines) > sum(map(len, lines)):
        return None  # mostly empty: its cells would take much more memory than its text
    starts = [start for start, _ in columns]
    rows: list[str | Sequence[_Cell]] = []
    held: list[str] = []

    def end_row() -> None:
        if held:
            slices = list(pairwise([*starts, None]))
            rows.append([_cell([each[a:b] for each in held], read) for a, b in slices])
            held.clear()

    for line in lines:
        if line == lines[0]:
            end_row()
            rows.append("=")
        elif not line:
            held += [line] * bool(held)
        elif not line.strip(" -") or any(line[end:start].strip() for (_, end), (start, _) in pairwise(columns)):
            return None
        else:
            if line[: columns[0][1]].strip():
                end_row()
            elif not held:
                return None
            held.append(line)
    return rows if not held else None


def _cell(lines: Sequence[str], read: Read) -> _Cell:
    texts = "\n".join(line.replace(_FILLER, "").rstrip() for line in lines).strip("\n").split("\n")
    margin = min((len(text) - len(text.lstrip()) for text in texts if text), default=0)
    bare = [text[margin:] for text in texts]
    return _Cell(bare, read(bare) if bare != [""] else None)
