"""Read the cells, comments, boxes and charts of a workbook (.xlsx, ECMA-376) as HTML, and write the translation.

Sheets are read in order and row by row; a text that several cells have is translated once, since formulas may compare
these cells. Not translated: results of formulas, texts that formulas or filters refer to by their words, and codes.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from zipfile import ZipFile

from lxml import etree

from service.files.numbered import paragraphs_of
from service.files.office.dialects import SLIDES, check_looks, check_tabs
from service.files.office.paragraph import Paragraph
from service.files.office.parts import parsed, written
from service.files.packed import check_excerpts, opened, with_parts
from service.files.workbooks.cell_texts import CellText, CellTexts, is_text, words_of
from service.files.workbooks.cells import S
from service.files.workbooks.parts import DRAWINGS, MAIN, NOTES, SUFFIX, TABLE, WorkbookParts
from service.files.workbooks.references import References, normal
from service.files.workbooks.scanning import ExcerptScan, Scan, SheetScan
from service.files.workbooks.tables import Label, Names, labels_of
from service.files.xml_text import Element

_MENTIONS: Final = re.compile(rb"<(?:\w+:)?mentions\b")
"""A mention of somebody in a threaded comment, which refers to a position in its text."""
_BEFORE_CALCULATION: Final = tuple(
    S + name for name in ("sheets", "functionGroups", "externalReferences", "definedNames")
)


def html_of(content: bytes) -> str:
    """Return the text of a workbook as HTML.

    Raises:
        InvalidInputError: it is no such workbook, or is damaged or too large.
    """
    with opened(content, SUFFIX, MAIN) as archive:
        texts = _Workbook(archive).texts
    check_looks(sum(text.weight for text in texts))
    return "".join(text.paragraph.html for text in texts)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the workbook with its texts replaced by `translation`: the translated result of `html_of`."""
    with opened(content, SUFFIX, MAIN) as archive:
        workbook = _Workbook(archive)
        workbook.write(paragraphs_of(translation))
        return with_parts(archive, workbook.changed())


class _Text(NamedTuple):
    """A text that is translated once: a paragraph, and, if it is in cells, all equal texts of cells."""

    paragraph: Paragraph
    of_cells: list[CellText]

    @property
    def is_compared(self) -> bool:
        """Whether formulas may compare it: it is in cells, and not a column name, which a number keeps unique."""
        return bool(self.of_cells) and not any(text.labels for text in self.of_cells)

    @property
    def weight(self) -> int:
        """Bytes of its looks in all places."""
        return sum(text.paragraph.weight for text in self.of_cells) or self.paragraph.weight

    def write(self, translation: str) -> None:
        """Write its translation in all places."""
        for text in self.of_cells:
            text.write(translation)
        if not self.of_cells:
            self.paragraph.write(translation)


class _Workbook:
    """A workbook, with all texts that are translated."""

    def __init__(self, archive: ZipFile) -> None:
        self._parts = parts = WorkbookParts(archive)
        self._references = References()
        for name in parts.naming:
            Scan(self._references).read(name, parts.content(name))
        self._tables = {name: self._table(name) for name in parts.of({TABLE})}
        self._labels = {sheet: self._labels_on(sheet) for sheet in parts.sheets}
        """The labels in tables on each sheet, by the names of their cells."""
        self._sheets = {sheet: self._sheet(sheet) for sheet in parts.sheets}
        notes = [name for name in parts.of(NOTES) if not _MENTIONS.search(parts.read[name])]
        self._notes = {name: self._scan(name, "text") for name in notes}
        if self._references.has_places:
            self._refer_to_places()
        self._shared = {} if parts.shared is None else {parts.shared: self._scan(parts.shared, "si")}
        self._cells = dict(self._cut_out())
        self._label_texts()
        self._drawn = dict(self._drawings())
        self.texts = list(self._in_order())
        """The texts to translate, in reading order."""

    def write(self, translations: Iterable[str]) -> None:
        """Write the translations, except for those of cells that formulas would then take for other texts."""
        said = set[str]()
        for text, translation in zip(self.texts, translations, strict=True):
            words = normal(words_of(translation))
            is_taken = words in self._references or (self._references.compares and words in said)
            if not (is_taken and text.is_compared):
                said.add(words)
                text.write(translation)

    def changed(self) -> dict[str, bytes]:
        """Return the parts that have changed, by their names."""
        changed = {name: written(self._tables[name]) for name in self._renamed_tables()}
        for name, texts in self._cells.items():
            if (content := texts.written()) is not None:
                changed[name] = content
        for name, (root, paragraphs) in self._drawn.items():
            for paragraph in paragraphs:
                paragraph.write_copy()
            changed[name] = written(root)
        if changed and any(sheet.computes for sheet in self._sheets.values()):
            changed[MAIN] = written(_computed_anew(self._parts.main))
        return changed

    def _table(self, name: str) -> Element:
        Scan(self._references).read(name, self._parts.read[name])
        return parsed(name, self._parts.read[name], SUFFIX)

    def _refer_to_places(self) -> None:
        """Do not translate cells whose text is the name of a sheet, a range or a table."""
        for element in self._parts.main.iter(S + "sheet", S + "definedName"):
            self._references.add(element.get("name", ""))
        for table in self._tables.values():
            self._references.add(table.get("displayName", ""))

    def _labels_on(self, sheet: str) -> dict[str, list[Label]]:
        found = dict[str, list[Label]]()
        for table in self._parts.of({TABLE}, sheet):
            for cell, label in labels_of(self._tables[table]):
                found.setdefault(cell, []).append(label)
        return found

    def _sheet(self, name: str) -> SheetScan:
        content = self._parts.content(name)
        scan = SheetScan(self._references, content, self._labels[name])
        scan.read(name, content)
        return scan

    def _scan(self, name: str, element: str) -> ExcerptScan:
        content = self._parts.read[name]
        scan = ExcerptScan(self._references, content, element)
        scan.read(name, content)
        return scan

    def _cut_out(self) -> Iterator[tuple[str, CellTexts]]:
        """Yield the texts of cells and comments, by the part in which they are."""
        scans = {**self._shared, **self._notes, **self._sheets}
        small = {name: scan.excerpt.small() for name, scan in scans.items()}
        check_excerpts(small.values())
        for name, content in small.items():
            if content:
                yield name, CellTexts(scans[name].excerpt, parsed(name, content, SUFFIX))

    def _drawings(self) -> Iterator[tuple[str, tuple[Element, list[Paragraph]]]]:
        """Yield the roots and paragraphs of drawings that have text, by part."""
        tabs = 0
        for name in self._parts.of(DRAWINGS):
            root = parsed(name, self._parts.read[name], SUFFIX)
            tabs += SLIDES.tabs_in(root)
            check_tabs(tabs)
            if paragraphs := Paragraph.all_of(root, SLIDES):
                yield name, (root, paragraphs)

    def _text(self, sheet: str, number: int) -> CellText | None:
        """Return the text of a cell by its number in `SheetScan.texts`; None if it has no words."""
        if number < 0:
            return self._cells[sheet].of.get(~number)
        for name, scan in self._shared.items():
            if number < len(scan.numbers):
                return self._cells[name].of.get(scan.numbers[number])
        return None

    def _label_texts(self) -> None:
        """Give the texts of cells their labels in tables."""
        for sheet, scan in self._sheets.items():
            for cell, number in scan.at.items():
                if (text := self._text(sheet, number)) is not None:
                    text.labels += self._labels[sheet][cell]

    def _in_order(self) -> Iterator[_Text]:
        """Yield the texts to translate, in reading order."""
        seen, same = set[CellText](), dict[str, list[CellText]]()
        for sheet, scan in self._sheets.items():
            cells = dict.fromkeys(self._text(sheet, number) for number in scan.texts)
            new = [text for text in cells if text is not None and text not in seen]
            seen.update(new)
            notes = [text for name in self._parts.of(NOTES, sheet) for text in self._texts_in(name)]
            for text in (*(each for each in new if not self._stays(each)), *notes):
                alike = same.setdefault(text.paragraph.html, [])
                alike.append(text)
                if len(alike) == 1:
                    yield _Text(text.paragraph, alike)
            for name in self._parts.of(DRAWINGS, sheet):
                _, paragraphs = self._drawn.get(name, (None, []))
                yield from (_Text(paragraph, []) for paragraph in paragraphs)

    def _texts_in(self, name: str) -> Iterable[CellText]:
        return self._cells[name].of.values() if name in self._cells else ()

    def _stays(self, text: CellText) -> bool:
        """Return whether a text is not translated: it has no words, is a code, or something refers to it."""
        said, labels = text.said, text.labels
        is_known = self._parts.is_connected or any(label.said != said for label in labels)
        return not is_text(said) or said in self._references or (bool(labels) and is_known)

    def _renamed_tables(self) -> list[str]:
        """Rename columns whose header cells were translated, and return the names of their tables."""
        labelled = [text for texts in self._cells.values() for text in texts.of.values() if text.labels]
        renamed = {label for text in labelled if text.is_written for label in text.labels}
        for label in {label for labels in self._labels.values() for some in labels.values() for label in some}:
            if label not in renamed:
                label.taken.add(label.said.casefold())
        names = Names()
        for text in labelled:
            if text.is_written:
                text.rename(names)
        changed = {label.element.getroottree().getroot() for label in renamed}
        return [name for name, table in self._tables.items() if table in changed]


def _computed_anew(main: Element) -> Element:
    """Have programs compute all formulas when they open the workbook: the results may depend on translated texts."""
    calculation = main.find(S + "calcPr")
    if calculation is None:
        calculation = etree.Element(S + "calcPr")
        [each for each in main if each.tag in _BEFORE_CALCULATION][-1].addnext(calculation)
    calculation.set("fullCalcOnLoad", "1")
    return main
