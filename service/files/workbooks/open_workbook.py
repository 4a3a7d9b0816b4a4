"""Read and translate the cells and boxes of LibreOffice's workbooks (.ods; ODF 1.3, part 3, section 9).

As with Excel's, a text that several cells have is translated once, since formulas may compare these cells; and results
of formulas, and texts that formulas refer to by their words, stay as they are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from zipfile import ZipFile

from service.files.numbered import paragraphs_of
from service.files.office.dialects import check_looks
from service.files.office.open_document import OFFICE, OPEN_DOCUMENT, PARAGRAPHS, into_runs, out_of_runs
from service.files.office.paragraph import Paragraph
from service.files.office.parts import parsed, written
from service.files.packed import opened, read_part, with_parts
from service.files.workbooks.cell_texts import is_text, words_of
from service.files.workbooks.references import References, normal
from service.files.xml_text import Element

SUFFIX: Final = ".ods"
MEDIA_TYPE: Final = "oasis.opendocument.spreadsheet"
_CONTENT: Final = "content.xml"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CALC: Final = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_CELL, _FORMULA = (_TABLE + name for name in ("table-cell", "formula"))
_FORMULAS: Final = (_FORMULA, _TABLE + "condition", _TABLE + "expression", _CALC + "value", _CALC + "condition")
"""Attributes that hold formulas: of cells, validity rules, named expressions, and conditional formats."""
_CELLS: Final = re.compile(r""" "(?:[^"]|"")*+" | \[ (?: '(?:[^']|'')*+' | [^\[\]'] )*+ \] """, re.VERBOSE)
"""References to cells, which in Excel's syntax would be columns of tables, and literals that may contain the like."""
_WORDS: Final = {
    _TABLE + "filter-condition": _TABLE + "value",
    _TABLE + "filter-set-item": _TABLE + "value",
    _TABLE + "data-pilot-field": _TABLE + "source-field-name",
    _TABLE + "data-pilot-member": _TABLE + "name",
}
"""Elements that refer to a cell by its words, with the attribute: filters, and the fields of pivot tables."""
_PLACES: Final = tuple(_TABLE + name for name in ("table", "named-range", "named-expression", "database-range"))
_NOT_SHOWN: Final = tuple(_TABLE + name for name in ("tracked-changes", "covered-table-cell"))
_FROM_ELSEWHERE: Final = _TABLE + "table-source"
"""Marks a table that is a copy of one in another file."""
_VALUE_TYPE, _STRING, _SAID = OFFICE + "value-type", "string", OFFICE + "string-value"
_RESULT: Final = (
    *(OFFICE + name for name in ("value-type", "value", "string-value", "boolean-value", "date-value", "time-value")),
    _CALC + "value-type",
)


def html_of(content: bytes) -> str:
    """Return the text of a workbook as HTML.

    Raises:
        InvalidInputError: it is no such workbook, or is damaged or too large.
    """
    with opened(content, SUFFIX, _CONTENT) as archive:
        texts = _Workbook(archive).texts
    check_looks(sum(each.weight for text in texts for each in text.paragraphs))
    return "".join(text.paragraphs[0].html for text in texts)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the workbook with its texts replaced by `translation`: the translated result of `html_of`."""
    with opened(content, SUFFIX, _CONTENT) as archive:
        workbook = _Workbook(archive)
        workbook.write(paragraphs_of(translation))
        return with_parts(archive, {_CONTENT: workbook.content()})


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that is translated once: the paragraphs that have it, of which only cells may have several."""

    paragraphs: list[Paragraph]
    of_cells: bool


class _Workbook:
    """A workbook, with all texts that are translated."""

    def __init__(self, archive: ZipFile) -> None:
        self._root = parsed(_CONTENT, read_part(archive, _CONTENT), SUFFIX)
        self._references = _references(self._root)
        are_cells = dict(_translated(self._root, self._references))
        into_runs(self._root, are_cells)
        self.texts = list(_texts(Paragraph.all_of(self._root, OPEN_DOCUMENT), are_cells))
        """The texts to translate, in reading order."""

    def write(self, translations: Iterable[str]) -> None:
        """Write the translations, except for those of cells that formulas would then take for other texts."""
        said = set[str]()
        for text, translation in zip(self.texts, translations, strict=True):
            words = normal(words_of(translation))
            is_taken = words in self._references or (self._references.compares and words in said)
            if words and not (is_taken and text.of_cells):
                said.add(words)
                for paragraph in text.paragraphs:
                    paragraph.write(translation)
                    if text.of_cells:  # a cell may have its text in an attribute, too
                        paragraph.element.getparent().attrib.pop(_SAID, None)

    def content(self) -> bytes:
        """Return the part as it is now, without the results of formulas, so that programs compute them anew."""
        out_of_runs(self._root)
        for cell in self._root.iter(_CELL):
            if cell.get(_FORMULA) is not None:
                _forget_result(cell)
        return written(self._root)


def _if_literal(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


def _references(root: Element) -> References:
    """Collect the texts that something in the workbook refers to by their words."""
    references = References()
    for element in root.iter():
        for name in _FORMULAS:
            if (formula := element.get(name)) is not None:
                references.add_formula(_CELLS.sub(_if_literal, formula))
        if element.tag in _WORDS:
            references.add(element.get(_WORDS[element.tag], ""))
    if references.has_places:
        for place in root.iter(*_PLACES):
            references.add(place.get(_TABLE + "name", ""))
    return references


def _translated(root: Element, references: References) -> Iterator[tuple[Element, bool]]:
    """Yield the paragraphs to translate, and whether each is in a cell."""
    hidden = {source.getparent() for source in root.iter(_FROM_ELSEWHERE)}.union(root.iter(*_NOT_SHOWN))
    stays = {cell for cell in root.iter(_CELL) if not _may_be_translated(cell, references)}
    for paragraph in root.iter(*PARAGRAPHS):
        parent = paragraph.getparent()
        if parent not in stays and hidden.isdisjoint(paragraph.iterancestors()):
            yield paragraph, parent.tag == _CELL


def _may_be_translated(cell: Element, references: References) -> bool:
    """Return whether a cell has text that somebody typed, and that nothing refers to."""
    said = "\n".join("".join(each.itertext()) for each in cell.iterchildren(*PARAGRAPHS))
    is_written = cell.get(_FORMULA) is None and cell.get(_VALUE_TYPE, _STRING) == _STRING
    return is_written and is_text(said) and said not in references


def _texts(paragraphs: Iterable[Paragraph], are_cells: Mapping[Element, bool]) -> Iterator[_Text]:
    """Yield the texts; equal ones of cells are one."""
    same = dict[str, list[Paragraph]]()
    for paragraph in paragraphs:
        if not are_cells[paragraph.element]:
            yield _Text([paragraph], of_cells=False)
            continue
        alike = same.setdefault(paragraph.html, [])
        alike.append(paragraph)
        if len(alike) == 1:
            yield _Text(alike, of_cells=True)


def _forget_result(cell: Element) -> None:
    for name in _RESULT:
        cell.attrib.pop(name, None)
    cell[:] = [each for each in cell if each.tag not in PARAGRAPHS]
