"""Books: which pages are translated and in which order; everything else stays as it is."""

import re
import tracemalloc
from io import BytesIO
from zipfile import ZipFile

import pytest
from lxml import etree

from service.errors import InvalidInputError
from service.files.books import MARKUP, html_of, with_translation
from service.segmentation.splitting import split
from tests.support.books import CONTENTS, PAGE, PARTS, book, listed, page


def sentences(content: bytes) -> list[str]:
    """The sentences of a book that are translated, without tags."""
    blocks = MARKUP.read(html_of(content), "ja", join_lines=True).blocks
    found = (split(block, "ja", longest=1000, most=1000) for block in blocks)
    return [re.sub("<[^<>]*>", "", sentence) for each in found for sentence in each.sentences]


def test_pages_are_read_in_turn() -> None:
    """Pages are read in the book's order with its table of contents last; pages outside that order are not read."""
    assert sentences(book()) == ["題", "き", "く", "こ。", "題", "か", "題", "か。", "か", "き"]


def test_nothing_changes_but_sentences() -> None:
    """Written back unchanged, a book has the same parts, compressed alike and in the same order."""
    content = book()
    with ZipFile(BytesIO(content)) as before, ZipFile(BytesIO(with_translation(content, html_of(content)))) as after:
        assert [(info.filename, info.compress_type) for info in after.infolist()] == [
            (info.filename, info.compress_type) for info in before.infolist()
        ]
        assert {name: after.read(name) for name in after.namelist()} == {
            name: before.read(name) for name in before.namelist()
        }
    translated = with_translation(content, html_of(content).replace("か", "A"))
    with ZipFile(BytesIO(translated)) as archive:
        assert archive.read("OEBPS/a b.xhtml").decode() == PARTS["OEBPS/a b.xhtml"].replace("か", "A")
        assert archive.read("OEBPS/toc.ncx").decode() == CONTENTS.replace("か", "A")
        assert archive.read("OEBPS/a.png").decode() == "か"


def test_title_of_the_book_is_translated() -> None:
    """Of the book's metadata only the first title is translated; its entities are preserved."""
    said = "<metadata><dc:creator>か</dc:creator><dc:title id='a'>{}</dc:title><dc:title>か</dc:title></metadata>"
    names = 'xmlns:dc="http://purl.org/dc/elements/1.1/" version'
    before = PARTS["OEBPS/book.opf"].replace("version", names).replace("<manifest>", said + "<manifest>")
    content = book(book=before.format("か &amp; き"))
    assert sentences(content) == [*sentences(book()), "か &amp; き"]
    with ZipFile(BytesIO(with_translation(content, html_of(content).replace("か &amp;", "A &amp;")))) as archive:
        assert archive.read("OEBPS/book.opf").decode() == before.format("A &amp; き")


def test_pages_of_old_books() -> None:
    """Entities that the document type defines are read, and so is a page without an XML declaration."""
    old = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><p>か&nbsp;き。</p></body></html>'
    )
    assert "か&nbsp;き。" in html_of(book(b=old))


@pytest.mark.parametrize("kind", ["text/html", "text/x-oeb1-document"])
def test_pages_that_are_listed_as_something_else(kind: str) -> None:
    """Reading programs display them as pages nevertheless."""
    listing = PARTS["OEBPS/book.opf"].replace(f'b.xhtml" media-type="{PAGE}"', f'b.xhtml" media-type="{kind}"')
    assert listing != PARTS["OEBPS/book.opf"]
    assert sentences(book(book=listing)) == sentences(book())


@pytest.mark.parametrize("doctype", ["<!DOCTYPE html>", ""])
def test_page_that_does_not_say_which_letters_have_names(doctype: str) -> None:
    """It may use HTML's entities, as every program that displays books assumes; any other name is a mistake."""
    content = book(b=page("<p>か&nbsp;き&mdash;く&hellip;</p>").replace("<!DOCTYPE html>", doctype))
    assert "か&nbsp;き&mdash;く&hellip;" in sentences(content)
    with ZipFile(BytesIO(with_translation(content, html_of(content)))) as archive:
        assert "<p>か&nbsp;き&mdash;く&hellip;</p>" in archive.read("OEBPS/text/b.xhtml").decode()
    with pytest.raises(InvalidInputError, match=r"b.xhtml is damaged: undeclared entity, line 3, column"):
        html_of(book(b=page("<p>か&nbps;</p>").replace("<!DOCTYPE html>", doctype)))


@pytest.mark.parametrize(
    ("said", "codec"),
    [
        ("us-ascii", "ascii"),
        ("US-ASCII", "ascii"),
        ("iso-8859-1", "cp1252"),
        ("Windows-1252", "cp1252"),
        ("UTF-16", "utf-16"),
        ("utf-8", "utf-16"),
        ("", "utf-16"),
    ],
)
def test_page_of_another_encoding(said: str, codec: str) -> None:
    """The translated page is in UTF-8 and says so; otherwise programs would misread or refuse it."""
    of_letters = page(f"<p>{'&#12363;' if codec == 'ascii' else '“é”'}</p>").replace("題", "x")
    declared = of_letters.replace(' encoding="utf-8"', f' encoding="{said}"' if said else "")
    content = book(b=declared.encode(codec))
    with ZipFile(BytesIO(with_translation(content, html_of(content)))) as archive:
        written = archive.read("OEBPS/text/b.xhtml")
    assert written.decode() == (of_letters if said else declared)
    assert etree.fromstring(written).xpath("string(//*[local-name()='p'])") in {"か", "“é”"}


@pytest.mark.parametrize("empty", ['<script src="a.js"/>', "<style />", "<script title='>'\n/>"])
def test_script_that_closes_itself(empty: str) -> None:
    """XML allows this, HTML does not: what follows, on this page and on later ones, is not part of the script."""
    content = book(b=page(f"{empty}<p>く<b>こ</b>。</p><script>/* さ */</script>"))
    assert sentences(content) == sentences(book(b=page("<p>く<b>こ</b>。</p>")))
    assert empty in html_of(content)


def test_elements_with_prefixes() -> None:
    """Programs write prefixes in XML to mix in formulas; the elements mean the same as without them."""
    body = "<p>く<math><mi>X</mi></math>。</p><p>こ<br/>さ</p>"
    prefixed = re.sub(r"<(/?)(?=m)", r"<\1m:", re.sub(r"<(/?)(?!/?m)", r"<\1h:", body))
    assert prefixed.startswith("<h:p>く<m:math><m:mi>X</m:mi></m:math>。</h:p>")
    declared = f'<h:div xmlns:h="http://www.w3.org/1999/xhtml" xmlns:m="m">{prefixed}</h:div>'
    assert sentences(book(b=page(declared))) == sentences(book(b=page(body)))


def test_a_page_that_is_listed_again_and_again_takes_no_memory() -> None:
    """With a copy of its address for each time, a book of a kilobyte would fill the memory."""
    content = book(book=listed("a", *["b"] * 5_000, a=f"text/b.xhtml {PAGE}", b=f"{'b' * 20_000} {PAGE}"))
    tracemalloc.start()
    assert sentences(content) == ["題", "き", "く", "こ。"]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"container": None}, "it lacks what such a file contains"),
        ({"container": "<container/>"}, "it does not list its pages"),
        ({"container": "<container>"}, "META-INF/container.xml is damaged"),
        ({"book": None}, "it does not list its pages"),
        ({"book": listed("a", a="a.png image/png")}, "it has no pages"),
        ({"b": b"\x8f\x00\x1b"}, "OEBPS/text/b.xhtml is in an encoding that is not read, or encrypted"),
        (
            {"b": page("か").replace("utf-8", "shift_jis")},
            "OEBPS/text/b.xhtml is in an encoding that is not read, or encrypted",
        ),
        ({"b": page("<code>か")}, "OEBPS/text/b.xhtml is damaged"),
        ({"b": page("か" * 3_000_000)}, "its text has more than 8388608 bytes"),
        ({"b": page("<br/>" * 500_000)}, "more than 500000 tags"),
        ({"container": f"<a>{'<b/>' * 500_000}</a>"}, "more than 500000 tags"),
        ({"book": f"<a>{'<b/>' * 500_000}</a>"}, "more than 500000 tags"),
        ({"a": "か" * 23_000_000}, "it has more than 67108864 bytes"),
    ],
)
def test_what_is_no_book_is_refused(parts: dict[str, str | bytes | None], problem: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(InvalidInputError, match=problem):
        html_of(book(**parts))
    with pytest.raises(InvalidInputError, match=r"is not a valid \.epub"):
        html_of(b"PK")
