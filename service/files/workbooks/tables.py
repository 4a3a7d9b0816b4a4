"""Tables of a workbook: the names of their columns must match the header cells, or Excel has to repair the file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from service.files.workbooks.cells import S, escaped, unescaped
from service.files.workbooks.positions import cell_at, position
from service.files.xml_text import Element

MOST_IN_A_NAME: Final = 240
"""The most characters in a column's name, with room for a number: Excel allows 255."""


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A table's copy of the text of a cell: the name of a column, or the label of a total."""

    element: Element
    attribute: str
    taken: set[str] = field(default_factory=set)
    """The names of columns that the table already has, in lower case."""

    @property
    def said(self) -> str:
        """The label as a cell has it."""
        return unescaped(self.element.get(self.attribute, ""))

    def say(self, text: str) -> None:
        """Set the label to the new text of its cell."""
        self.element.set(self.attribute, escaped(text).replace("\n", "_x000a_"))


def labels_of(table: Element) -> Iterator[tuple[str, Label]]:
    """Yield the labels of a table, each with its cell."""
    begin, _, end = table.get("ref", "").partition(":")
    (first, top), (_, bottom) = position(begin), position(end)
    taken = set[str]()
    for number, column in enumerate(table.iter(S + "tableColumn")):
        if table.get("headerRowCount", "1") != "0":
            yield cell_at(first + number, top), Label(column, "name", taken)
        if column.get("totalsRowLabel") is not None:
            yield cell_at(first + number, bottom), Label(column, "totalsRowLabel")


class Names:
    """Makes the names of columns unique within their tables."""

    def __init__(self) -> None:
        self._last = Counter[str]()
        """The last number tried for each name, in lower case."""

    def take(self, name: str, labels: Iterable[Label]) -> str:
        """Take a name, and return what has to be appended to it: nothing or, as Excel does, a number."""
        number, name = "", name.casefold()
        while any(name + number in label.taken for label in labels):
            self._last[name] += 1
            number = str(self._last[name] + 1)
        for label in labels:
            label.taken.add(name + number)
        return number
