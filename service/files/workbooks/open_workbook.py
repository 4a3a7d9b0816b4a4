"""LibreOffice's workbooks (.ods; ODF 1.3, part 3, section 9): what their cells and boxes say, in another language.

It is as with Excel's: a text that several cells have is translated once, as formulas look for one by the other, and
what formulas give, or refer to by its words, stays.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from zipfile import ZipFile

from service.files.numbered import paragraphs_of
from service.files.office.dialects import Element, check_looks
from service.files.office.open_document import OFFICE, OPEN_DOCUMENT, PARAGRAPHS, into_runs, out_of_runs
from service.files.office.paragraph import Paragraph
from service.files.office.parts import parsed, written
from service.files.packed import opened, read_parts, with_parts
from service.files.workbooks.cell_texts import is_text, words_of
from service.files.workbooks.references import References, normal

SUFFIX: Final = ".ods"
MEDIA_TYPE: Final = "oasis.opendocument.spreadsheet"
_CONTENT: Final = "content.xml"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CALC: Final = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_CELL, _FORMULA = (_TABLE + name for name in ("table-cell", "formula"))
_FORMULAS: Final = (_FORMULA, _TABLE + "condition", _TABLE + "expression", _CALC + "value", _CALC + "condition")
"""Attributes that hold formulas: of cells, of what may be written into them, of names, of how they look."""
_CELLS: Final = re.compile(r""" "(?:[^"]|"")*+" | \[ (?: '(?:[^']|'')*+' | [^\[\]'] )*+ \] """, re.VERBOSE)
"""References to cells, which are no columns of tables as they would be with Excel's, and texts that look like some."""
_WORDS: Final = {
    _TABLE + "filter-condition": _TABLE + "value",
    _TABLE + "filter-set-item": _TABLE + "value",
    _TABLE + "data-pilot-field": _TABLE + "source-field-name",
    _TABLE + "data-pilot-member": _TABLE + "name",
}
"""Elements that name a cell by its words: filters, and what a pivot table is made of."""
_PLACES: Final = tuple(_TABLE + name for name in ("table", "named-range", "named-expression", "database-range"))
_NOT_SHOWN: Final = tuple(_TABLE + name for name in ("tracked-changes", "covered-table-cell"))
_FROM_ELSEWHERE: Final = _TABLE + "table-source"
"""In a table that is what another file said when it was last looked at."""
_VALUE_TYPE, _STRING, _SAID = OFFICE + "value-type", "string", OFFICE + "string-value"
_RESULT: Final = (
    *(OFFICE + name for name in ("value-type", "value", "string-value", "boolean-value", "date-value", "time-value")),
    _CALC + "value-type",
)


def html_of(content: bytes) -> str:
    """The text of a workbook as HTML.

    Raises:
        InvalidInputError: it is none, or is damaged or too large.
    """
    with opened(content, SUFFIX, _CONTENT) as archive:
        texts = _Workbook(archive).texts
    check_looks(sum(each.weight for text in texts for each in text.paragraphs))
    return "".join(text.paragraphs[0].html for text in texts)


def with_translation(content: bytes, translation: str) -> bytes:
    """A workbook with other texts, as many of them: what `html_of` gives of it, translated."""
    with opened(content, SUFFIX, _CONTENT) as archive:
        workbook = _Workbook(archive)
        workbook.write(paragraphs_of(translation))
        return with_parts(archive, {_CONTENT: workbook.content()})


@dataclass(frozen=True, slots=True)
class _Text:
    """What is translated once: the paragraphs that say so, which are several only if they are of cells."""

    paragraphs: list[Paragraph]
    of_cells: bool


class _Workbook:
    """A workbook, of which all that is translated was read."""

    def __init__(self, archive: ZipFile) -> None:
        ((name, content),) = read_parts(archive, [archive.getinfo(_CONTENT)])
        self._root = parsed(name, content, SUFFIX)
        self._references = _references(self._root)
        are_cells = dict(_translated(self._root, self._references))
        into_runs(self._root, are_cells)
        self.texts = list(_texts(Paragraph.all_of(self._root, OPEN_DOCUMENT), are_cells))
        """All that is translated, in the order in which it is read."""

    def write(self, translations: Iterable[str]) -> None:
        """Have all texts say something else; those of cells stay that formulas would take for others then."""
        said = set[str]()
        for text, translation in zip(self.texts, translations, strict=True):
            words = normal(words_of(translation))
            is_taken = words in self._references or (self._references.compares and words in said)
            if words and not (is_taken and text.of_cells):
                said.add(words)
                for paragraph in text.paragraphs:
                    paragraph.write(translation)
                    if text.of_cells:  # which may say the same in an attribute, too
                        paragraph.element.getparent().attrib.pop(_SAID, None)

    def content(self) -> bytes:
        """The part as it is now, without the results of formulas: they are computed anew where there are none."""
        out_of_runs(self._root)
        for cell in self._root.iter(_CELL):
            if cell.get(_FORMULA) is not None:
                _forget_result(cell)
        return written(self._root)


def _if_literal(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


def _references(root: Element) -> References:
    """All that something refers to by its words."""
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
    """The paragraphs that are translated, and whether each is what a cell says."""
    hidden = {source.getparent() for source in root.iter(_FROM_ELSEWHERE)}.union(root.iter(*_NOT_SHOWN))
    stays = {cell for cell in root.iter(_CELL) if not _may_be_translated(cell, references)}
    for paragraph in root.iter(*PARAGRAPHS):
        parent = paragraph.getparent()
        if parent not in stays and hidden.isdisjoint(paragraph.iterancestors()):
            yield paragraph, parent.tag == _CELL


def _may_be_translated(cell: Element, references: References) -> bool:
    """Whether a cell says what somebody has written, and nothing else refers to that."""
    said = "\n".join("".join(each.itertext()) for each in cell.iterchildren(*PARAGRAPHS))
    is_written = cell.get(_FORMULA) is None and cell.get(_VALUE_TYPE, _STRING) == _STRING
    return is_written and is_text(said) and said not in references


def _texts(paragraphs: Iterable[Paragraph], are_cells: Mapping[Element, bool]) -> Iterator[_Text]:
    """Those of cells that say the same are one."""
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
