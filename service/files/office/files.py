"""Files of Word (.docx) and slides (.pptx) as HTML that says the same, and the translation of that put into them again.

Both are archives of XML (ECMA-376). Paragraphs are translated, of what people read: of Word's the text, its tables and
boxes, headers, footers and notes; of slides also the speaker's notes, diagrams, and titles in charts. All else stays as
it is.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.dialects import SLIDES, WORD, Dialect
from service.files.office.paragraph import Paragraph

_MOST_BYTES: Final = 2**26
"""Of all that is packed in a file; more is no document, but a bomb."""
_MOST_READ_BYTES: Final = 2**23
"""Of the parts that people read: some novels."""
_MOST_TAGS: Final = 500_000
"""In them: each is some hundred bytes of memory."""
_MOST_TABS: Final = 100_000
"""In their texts, where each is kept apart from them."""
_MOST_LOOKS_BYTES: Final = 2**25
"""Of what their text looks like, for each piece of it."""
_PACKED: Final = frozenset((ZIP_STORED, ZIP_DEFLATED))
"""How such files are packed; others are unpacked whole, however long they said to be."""
_STRICT: Final = "{http://purl.oclc.org/"
"""What the names of such files begin with whose elements have other names, though they mean the same."""


@dataclass(frozen=True, slots=True)
class OfficeFiles:
    """Files of one kind."""

    suffix: str
    dialect: Dialect
    main: str
    """The part that each of them has."""
    parts: re.Pattern[str]
    """Those that people read; slides and their notes are numbered."""

    def html_of(self, content: bytes) -> str:
        """The text of a file as HTML.

        Raises:
            InvalidInputError: it is none of this kind, or is damaged or too large.
        """
        with self._opened(content) as archive:
            paragraphs = [each for _, root in self._parts(archive) for each in self._paragraphs(root)]
        if sum(each.weight for each in paragraphs) > _MOST_LOOKS_BYTES:
            raise InvalidInputError(f"file: says in more than {_MOST_LOOKS_BYTES} bytes how its text looks")
        return "".join(each.html for each in paragraphs)

    def with_translation(self, content: bytes, translation: str) -> bytes:
        """A file with another text, of as many paragraphs: what `html_of` gives of it, translated."""
        translated = re.findall(r"<p>(.*?)</p>", translation, re.DOTALL)
        written = BytesIO()
        with self._opened(content) as archive, ZipFile(written, "w") as target:
            parts = list(self._parts(archive))
            paragraphs = [each for _, root in parts for each in self._paragraphs(root)]
            for paragraph, text in zip(paragraphs, translated, strict=True):
                paragraph.write(text)
            for paragraph in paragraphs:
                paragraph.write_copy()
            changed = {}
            for info, root in parts:
                changed[info.filename] = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
            for info in archive.infolist():
                target.writestr(info, changed.get(info.filename) or _unpacked(archive, info), info.compress_type)
        return written.getvalue()

    def _paragraphs(self, root: Any) -> list[Paragraph]:  # noqa: ANN401 - lxml has no types
        return Paragraph.all_of(root, self.dialect)

    def _opened(self, content: bytes) -> ZipFile:
        try:
            archive = ZipFile(BytesIO(content))
        except (BadZipFile, NotImplementedError, ValueError) as error:
            raise InvalidInputError(f"file: is no {self.suffix}: {error}") from None
        names = archive.namelist()
        if self.main not in names or len(set(names)) < len(names):
            raise InvalidInputError(f"file: is no {self.suffix}: it does not hold what such a file does")
        if any(info.compress_type not in _PACKED for info in archive.infolist()):
            raise InvalidInputError(f"file: is no {self.suffix}: it is packed as none is")
        for infos, most, which in (
            (archive.infolist(), _MOST_BYTES, "it"),
            (self._read(archive), _MOST_READ_BYTES, "its text"),
        ):
            if sum(info.file_size for info in infos) > most:
                raise InvalidInputError(f"file: {which} has more than {most} bytes when it is unpacked")
        return archive

    def _read(self, archive: ZipFile) -> list[ZipInfo]:
        """Those that people read, about in the order in which they do."""
        found = [(match, info) for info in archive.infolist() if (match := self.parts.fullmatch(info.filename))]
        return [info for _, info in sorted(found, key=lambda one: float(one[0].groupdict().get("number") or "inf"))]

    def _parts(self, archive: ZipFile) -> Iterator[tuple[ZipInfo, Any]]:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
        room, tabs = _MOST_TAGS, _MOST_TABS
        for info in self._read(archive):
            content = _unpacked(archive, info)
            if (room := room - content.count(b"<")) < 0:
                raise InvalidInputError(f"file: has more than {_MOST_TAGS} tags")
            try:
                root = etree.fromstring(content, parser)
            except (etree.XMLSyntaxError, ValueError) as error:
                raise InvalidInputError(f"file: {info.filename} is damaged: {error}") from None
            if root.getroottree().docinfo.doctype:
                raise InvalidInputError(f"file: {info.filename} is damaged: it has declarations of its own")
            if root.tag.startswith(_STRICT):
                raise InvalidInputError(f"file: is Strict Open XML: save it as a common {self.suffix}")
            tabs -= sum(str(text.text).count("\t") for text in root.iter(self.dialect.text))
            if tabs < 0:
                raise InvalidInputError(f"file: has more than {_MOST_TABS} tabs")
            yield info, root


WORD_FILES: Final = OfficeFiles(
    ".docx", WORD, "word/document.xml", re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
)
SLIDE_FILES: Final = OfficeFiles(
    ".pptx",
    SLIDES,
    "ppt/presentation.xml",
    re.compile(
        r"ppt/(?:(?:slides/slide|notesSlides/notesSlide)(?P<number>\d+)|diagrams/(?:data|drawing)\d+|charts/chart\d+)\.xml"
    ),
)


def _unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    try:
        with archive.open(info) as packed:
            content = packed.read(info.file_size + 1)  # all that it says it has: else a bomb would be unpacked first
    except (
        ArithmeticError,
        BadZipFile,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
        zlib.error,
    ) as error:
        raise InvalidInputError(f"file: {info.filename} is damaged, or encrypted: {error}") from None
    if len(content) != info.file_size:
        raise InvalidInputError(f"file: {info.filename} is damaged: it has not the length that it says")
    return content
