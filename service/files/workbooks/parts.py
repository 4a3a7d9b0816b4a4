"""Which parts a workbook has, in the order in which people read them, by what refers to what."""

from collections.abc import Collection, Iterator
from typing import Final
from zipfile import ZipFile

from service.errors import InvalidInputError
from service.files.office.parts import KEY, Relations, parsed
from service.files.packed import read_parts, unpacked
from service.files.workbooks.cells import S

SUFFIX: Final = ".xlsx"
MAIN: Final = "xl/workbook.xml"
NOTES: Final = frozenset(("comments", "threadedComment"))
SHARED: Final = "sharedStrings"
TABLE: Final = "table"
DRAWINGS: Final = frozenset(("chart", "chartEx", "chartUserShapes", "diagramData", "diagramDrawing", "drawing"))
"""What has text as slides have it; charts and diagrams are in a drawing."""
_READ: Final = NOTES | DRAWINGS | {SHARED, TABLE}
_NAMING: Final = frozenset(("pivotCacheDefinition", "pivotTable", "slicerCache"))
"""What refers to texts by their words, besides what is read anyway."""
_MOST_PARTS: Final = 10_000
_MOST_TAGS: Final = 2**23
"""In sheets, which are not kept: a million cells with numbers have half of them, and each takes a microsecond."""


class WorkbookParts:
    """Those of one workbook."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._room = _MOST_TAGS
        self._relations = Relations(archive, SUFFIX)
        ((_, content),) = read_parts(archive, [archive.getinfo(MAIN)])
        self.main = parsed(MAIN, content, SUFFIX)
        own = list(self._relations.of(MAIN))
        names = {each.key: each.name for each in own if each.kind.endswith("sheet")}
        listed = [names.get(sheet.get(KEY, "")) for sheet in self.main.iterfind(f"{S}sheets/{S}sheet")]
        self.sheets = list(dict.fromkeys(name for name in listed if name is not None))
        self._kinds = {each.name: each.kind for each in own}
        """Of all parts that are referred to, by their names."""
        self._around = {sheet: list(dict.fromkeys(self._referred(sheet, 0))) for sheet in self.sheets}
        self.is_connected = "connections" in self._kinds.values()
        """Whether other programs know columns by their names, as queries and models of data do."""
        self.read = self._contents()
        """The contents of those that people read, but for sheets, and of tables."""
        self.shared = next(iter(self.of({SHARED})), None)
        """The part with the texts that cells of all sheets have, and perhaps several of them."""

    def content(self, name: str) -> bytes:
        """All of a part that is gone through once.

        Raises:
            InvalidInputError: it is damaged, or has, with those before it, too many tags.
        """
        content = unpacked(self._archive, self._archive.getinfo(name))
        self._room -= content.count(b"<")
        if self._room < 0:
            raise InvalidInputError(f"file: its sheets have more than {_MOST_TAGS} tags")
        return content

    @property
    def naming(self) -> list[str]:
        """What refers to texts by their words, and is neither a sheet nor a table."""
        return [MAIN, *self.of(_NAMING)]

    def of(self, kinds: Collection[str], sheet: str | None = None) -> list[str]:
        """Those of some kinds, of a sheet or of all of them."""
        return [name for name in (self._kinds if sheet is None else self._around[sheet]) if self._kinds[name] in kinds]

    def _referred(self, name: str, depth: int) -> Iterator[str]:
        """What a part refers to, and what that does; a chart is in a drawing, and may have one of its own."""
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
