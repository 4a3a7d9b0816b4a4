"""Word's files (.docx, ECMA-376) as HTML that says the same, and the translation of that put into the file again.

Paragraphs are translated, of the text, its tables and boxes, headers, footers and notes; all else stays as it is.
"""

import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from lxml import etree

from service.deepl.word_paragraph import Paragraph, paragraphs
from service.errors import InvalidInputError

_PARTS: Final = re.compile(r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml")
"""Those that people read."""
_MOST_BYTES: Final = 2**26
"""Of all that is packed in a file; more is no document, but a bomb."""


def html_of(content: bytes) -> str:
    """The text of a file as HTML.

    Raises:
        InvalidInputError: it is none of Word's, or is damaged or too large.
    """
    with _opened(content) as archive:
        return "".join(Paragraph(each).html for _, root in _parts(archive) for each in paragraphs(root))


def with_translation(content: bytes, translation: str) -> bytes:
    """A file with another text, of as many paragraphs: what `html_of` gives of it, translated."""
    translated = iter(re.findall(r"<p>(.*?)</p>", translation, re.DOTALL))
    written = BytesIO()
    with _opened(content) as archive, ZipFile(written, "w") as target:
        changed = {}
        for info, root in _parts(archive):
            for element in paragraphs(root):
                Paragraph(element).write(next(translated))
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
    if sum(info.file_size for info in archive.infolist()) > _MOST_BYTES:
        raise InvalidInputError(f"file: has more than {_MOST_BYTES} bytes when it is unpacked")
    return archive


def _parts(archive: ZipFile) -> Iterator[tuple[ZipInfo, Any]]:
    """Those that are translated, in the order of the file."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for info in archive.infolist():
        if _PARTS.fullmatch(info.filename):
            try:
                root = etree.fromstring(_unpacked(archive, info), parser)
            except (etree.XMLSyntaxError, ValueError) as error:
                raise InvalidInputError(f"file: {info.filename} is damaged: {error}") from None
            yield info, root


def _unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    try:
        return archive.read(info)
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise InvalidInputError(f"file: {info.filename} is damaged, or encrypted: {error}") from None
