"""Texts and slides of office programs as HTML that says the same, and the translation of that put into them again.

All are archives of XML: those of Word and PowerPoint (.docx and .pptx, ECMA-376), and OpenDocument (.odt and .odp).
Paragraphs are translated, of what people read: of texts with tables, boxes, headers, footers, notes and (Word's)
comments; of slides also the speaker's notes, and of both diagrams and titles in charts. All else stays as it is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from zipfile import ZipFile, ZipInfo

from service.files.numbered import paragraphs_of
from service.files.office.dialects import SLIDES, WORD, Dialect, check_looks, check_tabs
from service.files.office.open_document import OPEN_DOCUMENT, into_runs, out_of_runs
from service.files.office.paragraph import Paragraph
from service.files.office.parts import KEY, Relations, parsed, written
from service.files.packed import opened, read_parts, with_parts

_SLIDE: Final = "slide"
"""As what a link on a slide refers to another one."""


@dataclass(frozen=True, slots=True)
class OfficeFiles:
    """Files of one kind."""

    suffix: str
    dialect: Dialect
    main: re.Pattern[str]
    """The part that each of them has."""
    parts: re.Pattern[str]
    """Those that people read."""
    into_runs: Callable[[Any], None] | None = None
    """Has the text of a part in runs, where it is not."""
    out_of_runs: Callable[[Any], None] | None = None
    """And takes it out of them."""
    drawings: re.Pattern[str] | None = None
    """Those of its parts that are written as slides are."""
    listing: str | None = None
    """Elements of the main part that say in which order others are read."""

    def html_of(self, content: bytes) -> str:
        """The text of a file as HTML.

        Raises:
            InvalidInputError: it is none of this kind, or is damaged or too large.
        """
        with self._opened(content) as archive:
            paragraphs = [each for part in self._parts(archive) for each in self._paragraphs(*part)]
        check_looks(sum(each.weight for each in paragraphs))
        return "".join(each.html for each in paragraphs)

    def with_translation(self, content: bytes, translation: str) -> bytes:
        """A file with another text, of as many paragraphs: what `html_of` gives of it, translated."""
        with self._opened(content) as archive:
            parts = list(self._parts(archive))
            paragraphs = [each for part in parts for each in self._paragraphs(*part)]
            for paragraph, text in zip(paragraphs, paragraphs_of(translation), strict=True):
                paragraph.write(text)
            for paragraph in paragraphs:
                paragraph.write_copy()
            changed = {}
            for name, root in parts:
                if self.out_of_runs is not None:
                    self.out_of_runs(root)
                changed[name] = written(root)
            return with_parts(archive, changed)

    def _paragraphs(self, name: str, root: Any) -> list[Paragraph]:  # noqa: ANN401 - lxml has no types
        return Paragraph.all_of(root, self._dialect_of(name))

    def _dialect_of(self, name: str) -> Dialect:
        return SLIDES if self.drawings is not None and self.drawings.fullmatch(name) else self.dialect

    def _opened(self, content: bytes) -> ZipFile:
        return opened(content, self.suffix, self.main)

    def _read(self, archive: ZipFile) -> list[ZipInfo]:
        """Those that people read, about in the order in which they do."""
        places = {name: place for place, name in enumerate(self._listed(archive))}
        found = [info for info in archive.infolist() if self.parts.fullmatch(info.filename)]
        return sorted(found, key=lambda info: (not self._is_main(info), places.get(info.filename, len(places))))

    def _listed(self, archive: ZipFile) -> Iterator[str]:
        """The names of parts that the main one lists, each with those that it refers to: a slide's notes and charts."""
        if self.listing is None:
            return
        relations = Relations(archive, self.suffix)
        for main, content in read_parts(archive, [each for each in archive.infolist() if self._is_main(each)]):
            names = {each.key: each.name for each in relations.of(main)}
            keys = dict.fromkeys(each.get(KEY, "") for each in parsed(main, content, self.suffix).iter(self.listing))
            for name in [names[key] for key in keys if key in names]:
                yield from (name, *(each.name for each in relations.of(name) if each.kind != _SLIDE))

    def _is_main(self, part: ZipInfo) -> bool:
        return self.main.fullmatch(part.filename) is not None

    def _parts(self, archive: ZipFile) -> Iterator[tuple[str, Any]]:
        """By their names."""
        tabs = 0
        for name, content in read_parts(archive, self._read(archive)):
            root = parsed(name, content, self.suffix)
            tabs += self._dialect_of(name).tabs_in(root)
            check_tabs(tabs)
            if self.into_runs is not None:
                self.into_runs(root)
            yield name, root


_DRAWN: Final = r"(?:diagrams/(?:data|drawing)\d+|charts/chart(?:Ex)?\d+|drawings/drawing\d+)"
"""What Word and PowerPoint draw; the last ones are on charts."""
WORD_FILES: Final = OfficeFiles(
    ".docx",
    WORD,
    re.compile(r"word/document\d*\.xml"),
    re.compile(rf"word/(?:(?:document|header|footer|footnotes|endnotes|comments)\d*|{_DRAWN})\.xml"),
    drawings=re.compile(rf"word/{_DRAWN}\.xml"),
)
"""Word in a browser numbers all parts: its files have a `document2.xml`, or `document22.xml`."""
SLIDE_FILES: Final = OfficeFiles(
    ".pptx",
    SLIDES,
    re.compile(r"ppt/presentation\.xml"),
    re.compile(rf"ppt/(?:(?:slides/slide|notesSlides/notesSlide)\d+|{_DRAWN})\.xml"),
    listing="{http://schemas.openxmlformats.org/presentationml/2006/main}sldId",
)


def _open_document(suffix: str, parts: str) -> OfficeFiles:
    return OfficeFiles(suffix, OPEN_DOCUMENT, re.compile(r"content\.xml"), re.compile(parts), into_runs, out_of_runs)


OPEN_TEXT_FILES: Final = _open_document(".odt", r"(?:content|styles)\.xml")
"""Headers and footers are among the styles."""
OPEN_SLIDE_FILES: Final = _open_document(".odp", r"content\.xml")
