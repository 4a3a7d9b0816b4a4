"""Word's files (.docx, ECMA-376) as HTML that says the same, and the translation of that put into the file again.

Paragraphs are translated, of the text, its tables and boxes, headers, footers and notes; all else stays as it is.
"""

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree

from service.deepl.word_fields import W
from service.deepl.word_paragraph import Paragraph
from service.errors import InvalidInputError

_PARTS: Final = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
"""Those that people read."""
_MOST_BYTES: Final = 2**26
"""Of all that is packed in a file; more is no document, but a bomb."""
_MOST_READ_BYTES: Final = 2**23
"""Of the parts that people read: some novels."""
_MOST_TAGS: Final = 500_000
"""In them: each is some hundred bytes of memory."""
_PACKED: Final = frozenset((ZIP_STORED, ZIP_DEFLATED))
"""How Word packs; others are unpacked whole, however long they said to be."""


def html_of(content: bytes) -> str:
    """The text of a file as HTML.

    Raises:
        InvalidInputError: it is none of Word's, or is damaged or too large.
    """
    with _opened(content) as archive:
        return "".join(each.html for _, root in _parts(archive) for each in Paragraph.all_of(root))


def with_translation(content: bytes, translation: str) -> bytes:
    """A file with another text, of as many paragraphs: what `html_of` gives of it, translated."""
    translated = re.findall(r"<p>(.*?)</p>", translation, re.DOTALL)
    written = BytesIO()
    with _opened(content) as archive, ZipFile(written, "w") as target:
        parts = list(_parts(archive))
        paragraphs = [each for _, root in parts for each in Paragraph.all_of(root)]
        for paragraph, text in zip(paragraphs, translated, strict=True):
            paragraph.write(text)
        changed = {}
        for info, root in parts:
            changed[info.filename] = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
        for info in archive.infolist():
            target.writestr(info, changed.get(info.filename) or _unpacked(archive, info), info.compress_type)
    return written.getvalue()


def _opened(content: bytes) -> ZipFile:
    try:
        archive = ZipFile(BytesIO(content))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInputError(f"file: is no .docx: {error}") from None
    names = archive.namelist()
    if "word/document.xml" not in names or len(set(names)) < len(names):
        raise InvalidInputError("file: is no .docx: it holds no document of Word's")
    if any(info.compress_type not in _PACKED for info in archive.infolist()):
        raise InvalidInputError("file: is no .docx: it is packed as Word packs none")
    read = [info for info in archive.infolist() if _PARTS.fullmatch(info.filename)]
    for infos, most, which in ((archive.infolist(), _MOST_BYTES, "it"), (read, _MOST_READ_BYTES, "its text")):
        if sum(info.file_size for info in infos) > most:
            raise InvalidInputError(f"file: {which} has more than {most} bytes when it is unpacked")
    return archive


def _parts(archive: ZipFile) -> Iterator[tuple[ZipInfo, Any]]:
    """Those that are translated, in the order of the file."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    room = _MOST_TAGS
    for info in archive.infolist():
        if _PARTS.fullmatch(info.filename):
            content = _unpacked(archive, info)
            if (room := room - content.count(b"<")) < 0:
                raise InvalidInputError(f"file: has more than {_MOST_TAGS} tags")
            try:
                root = etree.fromstring(content, parser)
            except (etree.XMLSyntaxError, ValueError) as error:
                raise InvalidInputError(f"file: {info.filename} is damaged: {error}") from None
            if root.getroottree().docinfo.doctype or not root.tag.startswith(W):
                raise InvalidInputError(f"file: {info.filename} is none of Word's: save it as .docx, and not as Strict")
            yield info, root


def _unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    try:
        return archive.read(info)
    except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, zlib.error) as error:
        raise InvalidInputError(f"file: {info.filename} is damaged, or encrypted: {error}") from None
