"""Find the parts of a workbook, in reading order, by the references between them."""

from collections.abc import Collection, Iterator
from typing import Final
from zipfile import ZipFile

from service.errors import InvalidInputError
from service.files.office.parts import KEY, Relations, parsed
from service.files.packed import read_part, read_parts, unpacked
from service.files.workbooks.cells import S

SUFFIX: Final = ".xlsx"
MAIN: Final = "xl/workbook.xml"
NOTES: Final = frozenset(("comments", "threadedComment"))
SHARED: Final = "sharedStrings"
TABLE: Final = "table"
DRAWINGS: Final = frozenset(("chart", "chartEx", "chartUserShapes", "diagramData", "diagramDrawing", "drawing"))
"""Parts with text in the dialect of slides; drawings contain the charts and diagrams."""
_READ: Final = NOTES | DRAWINGS | {SHARED, TABLE}
_NAMING: Final = frozenset(("pivotCacheDefinition", "pivotTable", "slicerCache"))
"""Parts that refer to texts by their words, besides those that are read anyway."""
_MOST_PARTS: Final = 10_000
_MOST_TAGS: Final = 2**23
"""The most tags in sheets, which are not kept in memory.

A million cells with numbers have half as many, and each tag takes a microsecond.
"""


class WorkbookParts:
    """The parts of one workbook."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._room = _MOST_TAGS
        self._relations = Relations(archive, SUFFIX)
        self.main = parsed(MAIN, read_part(archive, MAIN), SUFFIX)
        own = list(self._relations.of(MAIN))
        names = {each.key: each.name for each in own if each.kind.endswith("sheet")}
        listed = [names.get(sheet.get(KEY, "")) for sheet in self.main.iterfind(f"{S}sheets/{S}sheet")]
        self.sheets = list(dict.fromkeys(name for name in listed if name is not None))
        self._kinds = {each.name: each.kind for each in own}
        """The kinds of all parts that are referred to, by their names."""
        self._around = {sheet: list(dict.fromkeys(self._referred(sheet, 0))) for sheet in self.sheets}
        self.is_connected = "connections" in self._kinds.values()
        """Whether anything outside knows columns by their names, such as queries and data models."""
        self.read = self._contents()
        """The contents of tables, and of the parts that people read, except for sheets."""
        self.shared = next(iter(self.of({SHARED})), None)
        """The part with shared texts, each of which may be in several cells of any sheet."""

    def content(self, name: str) -> bytes:
        """Return the content of a part that is read once, and not kept.

        Raises:
            InvalidInputError: it is damaged, or has too many tags, together with those before it.
        """
        content = unpacked(self._archive, self._archive.getinfo(name))
        self._room -= content.count(b"<")
        if self._room < 0:
            raise InvalidInputError(f"file: its sheets have more than {_MOST_TAGS} tags")
        return content

    @property
    def naming(self) -> list[str]:
        """The parts that refer to texts by their words, except for sheets and tables."""
        return [MAIN, *self.of(_NAMING)]

    def of(self, kinds: Collection[str], sheet: str | None = None) -> list[str]:
        """Return the names of the parts of some kinds, of one sheet or of the whole workbook."""
        return [name for name in (self._kinds if sheet is None else self._around[sheet]) if self._kinds[name] in kinds]

    def _referred(self, name: str, depth: int) -> Iterator[str]:
        """Yield the parts that a part refers to, and those of drawings: charts, which may have drawings in turn."""
        for each in self._relations.of(name):
            if each.name in self._kinds:
                continue
            self._kinds[each.name] = each.kind
            if len(self._kinds) > _MOST_PARTS:
                raise InvalidInputError(f"file: has more than {_MOST_PARTS} parts")
            yield each.name
            if each.kind in DRAWINGS and depth < len(DRAWINGS):
                yield from self._referred(each.name, depth + 1)

    def _contents(self) -> dict[str, bytes]:
        infos = [self._archive.getinfo(name) for name, kind in self._kinds.items() if kind in _READ]
        return dict(read_parts(self._archive, infos))
