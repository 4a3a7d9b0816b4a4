"""Tables of a workbook, whose columns are called as their header cells say: if not, Excel repairs the file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from service.files.office.dialects import Element
from service.files.workbooks.cells import S, escaped, unescaped
from service.files.workbooks.positions import cell_at, position

MOST_IN_A_NAME: Final = 240
"""Characters in the name of a column, with room for a number: Excel has 255."""


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """What a table says of a cell: the name of a column, or what stands before a total."""

    element: Element
    attribute: str
    taken: set[str] = field(default_factory=set)
    """The names of columns that the table has already, whatever their case."""

    @property
    def said(self) -> str:
        """As a cell says it."""
        return unescaped(self.element.get(self.attribute, ""))

    def say(self, text: str) -> None:
        """Have it say what a cell says now."""
        self.element.set(self.attribute, escaped(text).replace("\n", "_x000a_"))


def labels_of(table: Element) -> Iterator[tuple[str, Label]]:
    """Those of a table, each with its cell."""
    begin, _, end = table.get("ref", "").partition(":")
    (first, top), (_, bottom) = position(begin), position(end)
    taken = set[str]()
    for number, column in enumerate(table.iter(S + "tableColumn")):
        if table.get("headerRowCount", "1") != "0":
            yield cell_at(first + number, top), Label(column, "name", taken)
        if column.get("totalsRowLabel") is not None:
            yield cell_at(first + number, bottom), Label(column, "totalsRowLabel")


class Names:
    """Gives columns names that no other one of their tables has."""

    def __init__(self) -> None:
        self._last = Counter[str]()
        """By names, whatever their case."""

    def take(self, name: str, labels: Iterable[Label]) -> str:
        """What has to come behind a name: nothing, or a number, as Excel does it."""
        number, name = "", name.casefold()
        while any(name + number in label.taken for label in labels):
            self._last[name] += 1
            number = str(self._last[name] + 1)
        for label in labels:
            label.taken.add(name + number)
        return number
