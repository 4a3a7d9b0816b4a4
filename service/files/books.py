"""Books (EPUB): their pages as one of HTML, in the order in which they are read, and the translation of that.

A book is an archive of pages in XHTML and a list of them (EPUB 3.3, sections 4 and 5), which says its title, too. All
else, such as pictures and how pages look, stays as it is.
"""

import html.entities
import posixpath
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree

from service.errors import InvalidInputError
from service.files.messages import Page
from service.files.packed import opened, read_parts, with_parts
from service.texts.tagged import Markup

_SUFFIX: Final = ".epub"
_CONTAINER: Final = "META-INF/container.xml"
_LISTED: Final = "{*}"
"""Elements of lists have one namespace or another, by their age."""
_PAGES: Final = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
"""What old books, and some programs, say of pages that are XHTML like all others."""
_CONTENTS: Final = "application/x-dtbncx+xml"
"""The table of contents of older books."""
MARKUP: Final = Markup("html", splitting=frozenset({"text"}), xhtml=True)
"""Of pages, and of such a table, where each title is a `text`."""
_TITLE: Final = re.compile(r"<(?P<name>[A-Za-z]{1,20}:title)(?:\s[^<>]*+)?>(?P<words>[^<>]*+)</(?P=name)>")
"""Of the whole book, in the list of its parts; others that follow are parts of it, or how it is sorted."""
_ENCODING: Final = re.compile(rb"\s*<\?xml\b[^>]*?\sencoding\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_UTF_8: Final = "utf-8"
_CODECS: Final = {
    **dict.fromkeys((b"utf-8", b"utf8"), _UTF_8),
    **dict.fromkeys((b"iso-8859-1", b"latin1", b"windows-1252"), "cp1252"),
    b"us-ascii": "ascii",
}
"""By what pages say; Latin-1 as browsers read it, and ASCII of programs that write all other letters as entities."""
_NAMED: Final = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,30};)")


def html_of(content: bytes) -> str:
    """The pages of a book, one behind the other.

    Raises:
        InvalidInputError: it is none, or is damaged, encrypted or too large.
    """
    with opened(content, _SUFFIX, _CONTAINER) as archive:
        return Page(content).between.join(each.words for each in _texts(archive))


def with_translation(content: bytes, translation: str) -> bytes:
    """A book with other pages: what `html_of` gives of it, translated."""
    translated = translation.split(Page(content).between)
    with opened(content, _SUFFIX, _CONTAINER) as archive:
        texts = zip(_texts(archive), translated, strict=True)
        changed = {each.name: f"{each.before}{words}{each.after}".encode() for each, words in texts}
        return with_parts(archive, changed)


class _Text(NamedTuple):
    """What is translated of a part, and what the part has around it."""

    name: str
    words: str
    before: str = ""
    after: str = ""


def _texts(archive: ZipFile) -> Iterator[_Text]:
    """The pages, and the title that programs show of a book."""
    for name, page in _pages(archive).items():
        yield _Text(name, page)
    book = _book(archive)
    ((_, content),) = read_parts(archive, [archive.getinfo(book)])
    listed = _text_of(book, content)
    if title := _TITLE.search(listed):
        begin, end = title.span("words")
        yield _Text(book, title["words"], listed[:begin], listed[end:])


def _pages(archive: ZipFile) -> dict[str, str]:
    """The pages by their names: first those that are read one after the other, then the tables of contents."""
    there = {info.filename: info for info in archive.infolist()}
    names = dict.fromkeys(name for name in _names(archive) if name in there)
    if not names:
        raise InvalidInputError(f"file: is no {_SUFFIX}: it has no pages")
    parts = read_parts(archive, [there[name] for name in names])
    return {name: _text_of(name, page) for name, page in parts}


def _text_of(name: str, page: bytes) -> str:
    try:
        content = _in_utf_8(page)
    except (KeyError, UnicodeDecodeError):
        raise InvalidInputError(f"file: {name} is in an encoding that is not read, or encrypted") from None
    # Else what is left open in one page would go on in the next. Letters that HTML has by name are no harm, though many
    # a page does not say which names it knows (&nbsp;): programs that show books know them.
    _tree(name, _NAMED.sub(_of_html_as_space, content))
    return content.decode()


def _in_utf_8(page: bytes) -> bytes:
    """A page in UTF-8, as it says if it says in what it is: so it is written."""
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


def _names(archive: ZipFile) -> list[str]:
    book = _book(archive)
    listed = _list(archive, book)
    items = {item.get("id"): item for item in listed.iter(_LISTED + "item")}
    read = [items.get(each.get("idref")) for each in listed.iter(_LISTED + "itemref")]
    pages = [item for item in read if item is not None and item.get("media-type") in _PAGES]
    contents = [item for item in items.values() if _is_contents(item)]
    return [_name(book, item.get("href", "")) for item in [*pages, *contents]]


def _book(archive: ZipFile) -> str:
    """The name of the list of its parts."""
    return next((each.get("full-path", "") for each in _list(archive, _CONTAINER).iter(_LISTED + "rootfile")), "")


def _is_contents(item: Any) -> bool:  # noqa: ANN401 - lxml has no types
    return item.get("media-type") == _CONTENTS or "nav" in item.get("properties", "").split()


def _name(book: str, address: str) -> str:
    """Of a part, from its address beside the list."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(book), unquote(address)))


def _list(archive: ZipFile, name: str) -> Any:  # noqa: ANN401 - likewise
    if name not in archive.namelist():
        raise InvalidInputError(f"file: is no {_SUFFIX}: it does not list its pages")
    ((_, content),) = read_parts(archive, [archive.getinfo(name)])
    return _tree(name, content)


def _tree(name: str, content: bytes) -> Any:  # noqa: ANN401 - likewise
    try:
        return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InvalidInputError(f"file: {name} is damaged: {error}") from None
