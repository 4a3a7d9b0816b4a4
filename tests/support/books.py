"""A small hand-made book (EPUB)."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
CONTENTS = (
    '<?xml version="1.0" encoding="UTF-8"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1"><navMap>'
    "<navPoint><navLabel><text>か</text></navLabel><content src='a%20b.xhtml'/></navPoint>"
    "<navPoint><navLabel><text>き</text></navLabel><content src='text/b.xhtml'/></navPoint></navMap></ncx>"
)


def page(body: str) -> str:
    """A page as in most books."""
    head = "<head><title>題</title><style>p { color: red }</style></head>"
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        f'<html xmlns="http://www.w3.org/1999/xhtml">{head}<body>{body}</body></html>\n'
    )


def listed(*read: str, **items: str) -> str:
    """A package document: its manifest (each item is a path, a space and a media type) and its reading order."""
    manifest = "".join(
        f'<item id="{name}" href="{href}" media-type="{kind}" properties="{name}"/>'
        for name, (href, kind) in ((name, item.split(" ")) for name, item in items.items())
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in read)
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>"
    )


PAGE = "application/xhtml+xml"
PARTS = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": listed(
        "second",
        "nav",
        "first",
        "gone",
        "unknown",
        first=f"a%20b.xhtml {PAGE}",
        second=f"text/b.xhtml {PAGE}",
        gone=f"c.xhtml {PAGE}",
        unread=f"d.xhtml {PAGE}",
        picture="a.png image/png",
        nav=f"nav.xhtml {PAGE}",
        ncx="toc.ncx application/x-dtbncx+xml",
    ),
    "OEBPS/a b.xhtml": page("<p>か。</p>"),
    "OEBPS/text/b.xhtml": page('<h1>き</h1><p>く<br/><img src="a.png" alt="け"/><b>こ</b>。</p>'),
    "OEBPS/d.xhtml": page("<p>さ。</p>"),
    "OEBPS/nav.xhtml": page("<nav><ol><li><a href='a%20b.xhtml'>か</a></li></ol></nav>"),
    "OEBPS/toc.ncx": CONTENTS,
    "OEBPS/a.png": "か",
}


def book(**others: str | bytes | None) -> bytes:
    """A book; keyword arguments, named after a part's file without its suffix, replace that part or (None) omit it."""
    written = BytesIO()
    changed = {name: others.get(name.rpartition("/")[2].partition(".")[0], part) for name, part in PARTS.items()}
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", ZIP_STORED)
        for name, part in changed.items():
            if part is not None:
                archive.writestr(name, part)
    return written.getvalue()
