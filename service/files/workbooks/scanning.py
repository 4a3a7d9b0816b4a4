"""Scan parts of a workbook without keeping them in memory: a sheet may have a million cells, few of them with text."""

import re
from collections.abc import Callable, Collection
from typing import Final, Generic, ParamSpec
from xml.parsers import expat

from service.errors import InvalidInputError
from service.files.workbooks.cells import unescaped
from service.files.workbooks.excerpts import Excerpt
from service.files.workbooks.positions import Filled, next_cell, next_row
from service.files.workbooks.references import References

_FORMULAS: Final = (
    "calculatedColumnFormula",
    "definedName",
    "f",
    "formula",
    "formula1",
    "formula2",
    "totalsRowFormula",
)
"""Elements with formulas: of cells, tables, validation lists and conditional formats."""
_NAMING: Final = {
    "cacheField": "name",
    "cfRule": "text",
    "customFilter": "val",
    "dataField": "name",
    "filter": "val",
    "slicerCacheDefinition": "sourceName",
}
"""Elements that refer to a text in one of their attributes."""
_LONGEST: Final = re.compile(rb"<[^<]{1048576}")
"""A tag with the text after it that is too long: all its attributes would be in memory at once."""
_MOST_NAMES: Final = 1000
"""The most names of elements and attributes: all are kept while a part is read."""
_DEEPEST: Final = 256

Attributes = dict[str, str]
P = ParamSpec("P")


class Scan:
    """Goes through a part, and notes the texts that it refers to by their words."""

    def __init__(self, references: References) -> None:
        self.computes = False
        """Whether the part has formulas."""
        self._references = references
        self._begins = _Actions[[Attributes]](dict.fromkeys(_FORMULAS, self._begin_formula))
        for element, attribute in _NAMING.items():
            self._begins[element] = self._naming(attribute)
        self._ends = _Actions[[]](dict.fromkeys(_FORMULAS, self._end_formula))
        self._text: list[str] = []
        self._depth = self._root_end = 0
        self._names: dict[str, str] = {}
        self._parser = expat.ParserCreate(intern=self._names)
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = _refuse
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end

    def read(self, name: str, content: bytes) -> None:
        """Scan a whole part.

        Raises:
            InvalidInputError: it is damaged, or built to take long.
        """
        if b"\0" in content:  # UTF-16, in which the ends of tags would not be found
            raise InvalidInputError(f"file: {name} is not in UTF-8")
        if _LONGEST.search(content):
            raise InvalidInputError(f"file: {name} has a tag, or a text, of more than a megabyte")
        try:
            self._parser.Parse(content, True)
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise InvalidInputError(f"file: {name} is damaged, or encrypted: {error}") from None

    def _begin(self, name: str, attributes: Attributes) -> None:
        self._depth += 1
        if self._depth > _DEEPEST or len(self._names) > _MOST_NAMES:
            raise InvalidInputError(
                f"file: has more than {_MOST_NAMES} kinds of elements, or nests them more than {_DEEPEST} deep"
            )
        if (begin := self._begins[name]) is not None:
            begin(attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if not self._depth:
            self._root_end = self._parser.CurrentByteIndex
        if (end := self._ends[name]) is not None:
            end()

    def _begin_text(self) -> None:
        self._text = []
        self._parser.CharacterDataHandler = self._text.append

    def _end_text(self) -> str:
        self._parser.CharacterDataHandler = None
        return "".join(self._text)

    def _begin_formula(self, _attributes: Attributes) -> None:
        self.computes = True
        self._begin_text()

    def _end_formula(self) -> None:
        self._references.add_formula(unescaped(self._end_text()))

    def _naming(self, attribute: str) -> Callable[[Attributes], None]:
        return lambda attributes: self._references.add(unescaped(attributes.get(attribute, "")))


class ExcerptScan(Scan):
    """Also cuts out all elements with one name."""

    def __init__(self, references: References, content: bytes, name: str) -> None:
        super().__init__(references)
        self.excerpt = Excerpt(content)
        self.numbers: list[int] = []
        """The numbers of the elements in the excerpt, in document order."""
        self._place = 0
        self._parser.StartElementHandler = self._begin_root
        self._begins[name] = self._begin_element
        self._ends[name] = self._end_element

    def read(self, name: str, content: bytes) -> None:
        """Scan a whole part; see `Scan.read`."""
        super().read(name, content)
        self.excerpt.end(self._root_end)

    def _begin_root(self, name: str, attributes: Attributes) -> None:
        self._parser.StartElementHandler = self._begin_first
        self._begin(name, attributes)

    def _begin_first(self, name: str, attributes: Attributes) -> None:
        self.excerpt.begin(self._parser.CurrentByteIndex)
        self._parser.StartElementHandler = self._begin
        self._begin(name, attributes)

    def _begin_element(self, _attributes: Attributes) -> None:
        self._place = self._parser.CurrentByteIndex

    def _end_element(self) -> None:
        self.numbers.append(self.excerpt.add(self._place, self._parser.CurrentByteIndex))


class SheetScan(ExcerptScan):
    """Notes which texts the cells of a sheet have, and cuts out those that are not shared between sheets."""

    def __init__(self, references: References, content: bytes, watched: Collection[str]) -> None:
        super().__init__(references, content, "is")
        self.texts: dict[int, None] = {}
        """The texts in the order of their first cells: the number of a shared one, ~number of one in the sheet."""
        self.at: dict[str, int] = {}
        """The texts of the cells in `watched`."""
        self._watched = watched
        self._filled = Filled()
        """Cells filled by array formulas: in all but the first, the result looks like a typed text."""
        self._cell = self._row = ""
        self._kind: str | None = None
        self._is_computed = False
        self._begins |= {"row": self._begin_row, "c": self._begin_cell, "v": self._begin_value}
        self._ends["v"] = self._end_value

    def _begin_row(self, attributes: Attributes) -> None:
        self._row = self._cell = attributes.get("r") or next_row(self._row)

    def _begin_cell(self, attributes: Attributes) -> None:
        self._cell = attributes.get("r") or next_cell(self._cell)
        self._kind = attributes.get("t")
        self._is_computed = False

    def _begin_formula(self, attributes: Attributes) -> None:
        self._is_computed = True
        if attributes.get("t") in {"array", "dataTable"}:
            self._filled.add(attributes.get("ref", ""))
        super()._begin_formula(attributes)

    def _begin_value(self, _attributes: Attributes) -> None:
        self._place = self._parser.CurrentByteIndex
        if self._kind == "s":
            self._begin_text()

    def _end_value(self) -> None:
        if self._kind == "s" and (number := self._end_text().strip()).isdecimal() and len(number) < 10:
            self._use(int(number))
        elif self._kind == "str" and not self._is_computed and self._cell not in self._filled:
            self._use(~self.excerpt.add(self._place, self._parser.CurrentByteIndex))

    def _end_element(self) -> None:
        if self._kind == "inlineStr" and not self._is_computed:
            self._use(~self.excerpt.add(self._place, self._parser.CurrentByteIndex))

    def _use(self, text: int) -> None:
        self.texts[text] = None
        if self._cell in self._watched:
            self.at[self._cell] = text


class _Actions(dict[str, Callable[P, None] | None], Generic[P]):
    """The actions for elements by their names, regardless of prefix; None for all others."""

    def __missing__(self, name: str) -> Callable[P, None] | None:
        self[name] = found = self.get(name.rpartition(":")[2])
        return found


def _refuse(_name: str, _system: str | None, _public: str | None, _declares: int) -> None:
    raise InvalidInputError("file: is damaged: a part has a DTD")
