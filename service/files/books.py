"""Read a book (EPUB) as one page of HTML, with its pages in reading order, and write it with the translation.

A book is an archive of pages in XHTML, with a list of them (EPUB 3.3, sections 4 and 5) that also has its title.
Everything else, such as pictures and style sheets, stays as it is.
"""

import html.entities
import posixpath
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from models.text.memory_files import syntax_error
from service.errors import InvalidInputError
from service.files.messages import Page
from service.files.packed import opened, read_part, read_parts, with_parts
from service.files.xml_text import Element
from service.texts.tagged import Markup

_SUFFIX: Final = ".epub"
_CONTAINER: Final = "META-INF/container.xml"
_LISTED: Final = "{*}"
"""Any namespace: that of the elements of lists depends on their age."""
_PAGES: Final = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
"""Media types of pages; old books and some programs give the last two to what is XHTML as well."""
_CONTENTS: Final = "application/x-dtbncx+xml"
"""The table of contents of older books."""
MARKUP: Final = Markup("html", splitting=frozenset({"text"}), xhtml=True)
"""How tags are read in pages and in such a table of contents, where each title is a `text`."""
_TITLE: Final = re.compile(r"<(?P<name>[A-Za-z]{1,20}:title)(?:\s[^<>]*+)?>(?P<words>[^<>]*+)</(?P=name)>")
"""The title of the whole book in the list of its parts; further ones are subtitles, or forms to sort by."""
_ENCODING: Final = re.compile(rb"\s*<\?xml\b[^>]*?\sencoding\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_UTF_8: Final = "utf-8"
_CODECS: Final = {
    **dict.fromkeys((b"utf-8", b"utf8"), _UTF_8),
    **dict.fromkeys((b"iso-8859-1", b"latin1", b"windows-1252"), "cp1252"),
    b"us-ascii": "ascii",
}
"""Codecs by the encoding that pages declare; Latin-1 is read as browsers do.

ASCII comes from programs that write all other letters as entities.
"""
_NAMED: Final = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,30};)")


def html_of(content: bytes) -> str:
    """Return the pages of a book, one after the other.

    Raises:
        InvalidInputError: it is no such file, or is damaged, encrypted or too large.
    """
    with opened(content, _SUFFIX, _CONTAINER) as archive:
        return Page(content).between.join(each.words for each in _texts(archive))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the book with its pages replaced by `translation`: the translated result of `html_of`."""
    translated = translation.split(Page(content).between)
    with opened(content, _SUFFIX, _CONTAINER) as archive:
        texts = zip(_texts(archive), translated, strict=True)
        changed = {each.name: f"{each.before}{words}{each.after}".encode() for each, words in texts}
        return with_parts(archive, changed)


class _Text(NamedTuple):
    """The text of a part that is translated, and what is around it in the part."""

    name: str
    words: str
    before: str = ""
    after: str = ""


def _texts(archive: ZipFile) -> Iterator[_Text]:
    """Yield the pages of a book, and the title that programs show."""
    for name, page in _pages(archive).items():
        yield _Text(name, page)
    book = _book(archive)
    listed = _text_of(book, read_part(archive, book))
    if title := _TITLE.search(listed):
        begin, end = title.span("words")
        yield _Text(book, title["words"], listed[:begin], listed[end:])


def _pages(archive: ZipFile) -> dict[str, str]:
    """Return the pages by name: first those in reading order, then the tables of contents."""
    there = {info.filename: info for info in archive.infolist()}
    names = dict.fromkeys(name for name in _names(archive) if name in there)
    if not names:
        raise InvalidInputError(f"file: is not a valid {_SUFFIX}: it has no pages")
    parts = read_parts(archive, [there[name] for name in names])
    return {name: _text_of(name, page) for name, page in parts}


def _text_of(name: str, page: bytes) -> str:
    try:
        content = _in_utf_8(page)
    except (KeyError, UnicodeDecodeError):
        raise InvalidInputError(f"file: {name} is in an encoding that is not read, or encrypted") from None
    # Refuse pages that are not well-formed: an element that is left open would go on in the next page. HTML's named
    # entities (&nbsp;) are accepted, although many pages do not declare them: programs that show books know them.
    _tree(name, _NAMED.sub(_of_html_as_space, content))
    return content.decode()


def _in_utf_8(page: bytes) -> bytes:
    """Convert a page to UTF-8, in which it is written again; if it declares an encoding, it then declares UTF-8."""
    is_wide = page.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    page = page.decode("utf-16").encode() if is_wide else page
    said = _ENCODING.match(page)
    codec = _UTF_8 if said is None or is_wide else _CODECS[said[1].lower()]
    content = page.decode(codec).encode()
    if said is None or (codec == _UTF_8 and not is_wide):
        return content
    return content[: said.start(1)] + _UTF_8.encode() + content[said.end(1) :]


def _of_html_as_space(named: re.Match[bytes]) -> bytes:
    return b" " * len(named[0]) if named[1].decode() in html.entities.html5 else named[0]


def _names(archive: ZipFile) -> Iterator[str]:
    """Return the names of pages, each once, however often it is listed: it may be as long as the whole list."""
    book = _book(archive)
    listed = _list(archive, book)
    items = {item.get("id"): item for item in listed.iter(_LISTED + "item")}
    read = dict.fromkeys(items.get(each.get("idref")) for each in listed.iter(_LISTED + "itemref"))
    pages = [item for item in read if item is not None and item.get("media-type") in _PAGES]
    contents = [item for item in items.values() if _is_contents(item)]
    return (_name(book, item.get("href", "")) for item in [*pages, *contents])


def _book(archive: ZipFile) -> str:
    """Return the name of the list of a book's parts."""
    return next((each.get("full-path", "") for each in _list(archive, _CONTAINER).iter(_LISTED + "rootfile")), "")


def _is_contents(item: Element) -> bool:
    return item.get("media-type") == _CONTENTS or "nav" in item.get("properties", "").split()


def _name(book: str, address: str) -> str:
    """Return the name of a part from its address, which is relative to the list."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(book), unquote(address)))


def _list(archive: ZipFile, name: str) -> Element:
    if name not in archive.namelist():
        raise InvalidInputError(f"file: is not a valid {_SUFFIX}: it does not list its pages")
    return _tree(name, read_part(archive, name))


def _tree(name: str, content: bytes) -> Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        raise InvalidInputError(f"file: {name} is damaged: {syntax_error(parser)}") from None
