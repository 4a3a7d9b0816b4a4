"""Read text documents and slides of office programs as HTML, and put the translation back into them.

All are archives of XML: those of Word and PowerPoint (.docx and .pptx, ECMA-376), and OpenDocument (.odt and .odp). The
paragraphs that people read are translated: in documents those in tables, boxes, headers, footers, notes and (in Word)
comments; on slides also speaker's notes; and in both, diagrams and the titles of charts. All else stays as it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from zipfile import ZipFile, ZipInfo

from service.files.numbered import paragraphs_of
from service.files.office import code_styles, drop_caps
from service.files.office.dialects import SLIDES, WORD, Dialect, check_looks, check_tabs
from service.files.office.open_document import OPEN_DOCUMENT, into_runs, out_of_runs
from service.files.office.paragraph import Paragraph
from service.files.office.parts import KEY, Relations, parsed, written
from service.files.packed import opened, read_parts, with_parts
from service.files.xml_text import Element

_SLIDE: Final = "slide"
"""The kind of relation by which a link on a slide refers to another slide."""


@dataclass(frozen=True, slots=True)
class OfficeFiles:
    """Reads and writes office files of one kind."""

    suffix: str
    dialect: Dialect
    main: re.Pattern[str]
    """The main part, which every such file has."""
    parts: re.Pattern[str]
    """The parts that people read."""
    prepare: Callable[[Element], None] | None = None
    """Brings the text of a part into the form in which it is read."""
    revert: Callable[[Element], None] | None = None
    """Reverts `prepare`."""
    code_in: Callable[[Element], frozenset[str]] | None = None
    """Returns the styles of code that a part names."""
    styles: re.Pattern[str] | None = None
    """The part that names all styles; without it, each part names its own."""
    drawings: re.Pattern[str] | None = None
    """The parts that are written in the dialect of slides."""
    listing: str | None = None
    """Elements of the main part that give the order of the others."""

    def html_of(self, content: bytes) -> str:
        """Return the text of a file as HTML.

        Raises:
            InvalidInputError: it is not of this kind, or is damaged or too large.
        """
        with self._opened(content) as archive:
            paragraphs = self._paragraphs(archive, self._parts(archive))
        check_looks(sum(each.weight for each in paragraphs))
        return "".join(each.html for each in paragraphs)

    def with_translation(self, content: bytes, translation: str) -> bytes:
        """Return the file with its text replaced by `translation`: the translated result of `html_of`."""
        with self._opened(content) as archive:
            parts = list(self._parts(archive))
            paragraphs = self._paragraphs(archive, parts)
            for _, root in parts:
                self.dialect.unbind(root)
            for paragraph, text in zip(paragraphs, paragraphs_of(translation), strict=True):
                paragraph.write(text)
            for paragraph in paragraphs:
                paragraph.write_copy()
            changed = {}
            for name, root in parts:
                if self.revert is not None:
                    self.revert(root)
                changed[name] = written(root)
            return with_parts(archive, changed)

    def _paragraphs(self, archive: ZipFile, parts: Iterable[tuple[str, Element]]) -> list[Paragraph]:
        named = self._code_of(archive)
        found = list[Paragraph]()
        for name, root in parts:
            code = self.code_in(root) if self.code_in and self.styles is None else named
            found += Paragraph.all_of(root, replace(self._dialect_of(name), code=code))
        return found

    def _code_of(self, archive: ZipFile) -> frozenset[str]:
        """Return the styles of code that a part for styles names."""
        if self.styles is None or self.code_in is None:
            return frozenset()
        infos = [info for info in archive.infolist() if self.styles.fullmatch(info.filename)]
        roots = (parsed(name, content, self.suffix) for name, content in read_parts(archive, infos))
        return frozenset[str]().union(*map(self.code_in, roots))

    def _dialect_of(self, name: str) -> Dialect:
        return SLIDES if self.drawings is not None and self.drawings.fullmatch(name) else self.dialect

    def _opened(self, content: bytes) -> ZipFile:
        return opened(content, self.suffix, self.main)

    def _read(self, archive: ZipFile) -> list[ZipInfo]:
        """Return the parts that people read, approximately in reading order."""
        places = {name: place for place, name in enumerate(self._listed(archive))}
        found = [info for info in archive.infolist() if self.parts.fullmatch(info.filename)]
        return sorted(found, key=lambda info: (not self._is_main(info), places.get(info.filename, len(places))))

    def _listed(self, archive: ZipFile) -> Iterator[str]:
        """Yield the names of parts that the main one lists, each with those it refers to (a slide's notes, charts)."""
        if self.listing is None:
            return
        relations = Relations(archive, self.suffix)
        for main, content in read_parts(archive, [each for each in archive.infolist() if self._is_main(each)]):
            names = {each.key: each.name for each in relations.of(main)}
            keys = dict.fromkeys(each.get(KEY, "") for each in parsed(main, content, self.suffix).iter(self.listing))
            for name in dict.fromkeys(names[key] for key in keys if key in names):
                yield from (name, *(each.name for each in relations.of(name) if each.kind != _SLIDE))

    def _is_main(self, part: ZipInfo) -> bool:
        return self.main.fullmatch(part.filename) is not None

    def _parts(self, archive: ZipFile) -> Iterator[tuple[str, Element]]:
        """Yield the names and roots of the parts that people read."""
        tabs = 0
        for name, content in read_parts(archive, self._read(archive)):
            root = parsed(name, content, self.suffix)
            tabs += self._dialect_of(name).tabs_in(root)
            check_tabs(tabs)
            if self.prepare is not None:
                self.prepare(root)
            yield name, root


_DRAWN: Final = r"(?:diagrams/(?:data|drawing)\d+|charts/chart(?:Ex)?\d+|drawings/drawing\d+)"
"""Parts with drawings of Word and PowerPoint; the last kind is on charts."""
WORD_FILES: Final = OfficeFiles(
    ".docx",
    WORD,
    re.compile(r"word/document\d*\.xml"),
    re.compile(rf"word/(?:(?:document|header|footer|footnotes|endnotes|comments)\d*|{_DRAWN})\.xml"),
    drop_caps.join,
    drop_caps.divide,
    code_styles.of_word,
    re.compile(r"word/styles\d*\.xml"),
    drawings=re.compile(rf"word/{_DRAWN}\.xml"),
)
"""Word for the web numbers all parts: its files have a `document2.xml`, or `document22.xml`."""
SLIDE_FILES: Final = OfficeFiles(
    ".pptx",
    SLIDES,
    re.compile(r"ppt/presentation\.xml"),
    re.compile(rf"ppt/(?:(?:slides/slide|notesSlides/notesSlide)\d+|{_DRAWN})\.xml"),
    listing="{http://schemas.openxmlformats.org/presentationml/2006/main}sldId",
)


def _open_document(suffix: str, parts: str) -> OfficeFiles:
    code_in = code_styles.of_open_document
    return OfficeFiles(
        suffix, OPEN_DOCUMENT, re.compile(r"content\.xml"), re.compile(parts), into_runs, out_of_runs, code_in
    )


OPEN_TEXT_FILES: Final = _open_document(".odt", r"(?:content|styles)\.xml")
"""The files have headers and footers in `styles.xml`."""
OPEN_SLIDE_FILES: Final = _open_document(".odp", r"content\.xml")
