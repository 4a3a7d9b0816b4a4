"""OpenDocument files: what is translated; everything else stays as it is."""

import re
from functools import reduce
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import odfdo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from service.errors import InvalidInputError
from service.files.office.files import OPEN_SLIDE_FILES, OPEN_TEXT_FILES

html_of, with_translation = OPEN_TEXT_FILES.html_of, OPEN_TEXT_FILES.with_translation
NAMES = {"fo": "xsl-fo-compatible", "draw": "drawing", **{name: name for name in ("office", "style", "table", "text")}}
NAMESPACES = " ".join(
    [
        *(f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for prefix, name in NAMES.items()),
        'xmlns:officeooo="http://openoffice.org/2009/office"',
        'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"',
    ]
)
STYLES = (
    "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties {properties}/></style:style>'
        for name, properties in (
            ("Bold", 'fo:font-weight="bold"'),
            ("BoldLater", 'fo:font-weight="bold" officeooo:rsid="001f"'),
            ("Slanted", 'fo:font-style="italic"'),
            ("Later", 'officeooo:rsid="002a" fo:language="ja" style:country-asian="JP"'),
        )
    )
    + '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>'
)
PICTURE = "<draw:frame/>"
CONTROL = '<loext:content-control loext:dropdown="true"><loext:list-item loext:value="c"/>b</loext:content-control>'
CITATION = "<text:note-citation>1</text:note-citation>"
NOTE = f"<text:note>{CITATION}<text:note-body><text:p>{{}}</text:p></text:note-body></text:note>"


def span(style: str, content: str) -> str:
    """Text in a style."""
    return f'<text:span text:style-name="{style}">{content}</text:span>'


def bold(content: str) -> str:
    """Text that is bold."""
    return span("Bold", content)


SLANTED_C = span("Slanted", "c")


def part(body: str) -> str:
    """A part with text."""
    return (
        f"<office:document-content {NAMESPACES}><office:automatic-styles>{STYLES}</office:automatic-styles>"
        f"<office:body>{body}</office:body></office:document-content>"
    )


def file(*paragraphs: str, **others: str) -> bytes:
    """A file with these paragraphs; other parts are given by name."""
    written = BytesIO()
    body = "".join(f'<text:p text:style-name="Standard">{each}</text:p>' for each in paragraphs)
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text", compress_type=0)
        for name, content in {**others, "content": part(body)}.items():
            archive.writestr(f"{name}.xml", content)
    return written.getvalue()


def paragraphs(content: bytes) -> str:
    """The content of a file's body."""
    with ZipFile(BytesIO(content)) as archive:
        text = archive.read("content.xml").decode()
    return text.split("<office:body>")[1].split("</office:body>")[0]


def inside(content: bytes) -> str:
    """The content of a file's only paragraph."""
    return paragraphs(content).removeprefix('<text:p text:style-name="Standard">').removesuffix("</text:p>")


@pytest.mark.parametrize(
    ("written", "html"),
    [
        (f"a{bold('b')}c", '<p>a<span id="0">b</span>c</p>'),
        (f"aa{bold('b' + SLANTED_C)}", '<p>aa<span id="0">b</span><span id="1">c</span></p>'),
        (f"aa{bold('b')}{span('BoldLater', 'c')}", '<p>aa<span id="0">bc</span></p>'),
        (f"a{span('Later', 'b')}c", "<p>abc</p>"),
        (bold("all"), "<p>all</p>"),
        (f"aa{span('Strong', 'b')}", '<p>aa<span id="0">b</span></p>'),
        ("<text:a>b</text:a>a", '<p><a id="0">b</a>a</p>'),
        (f"a{CONTROL}", '<p>a<a id="0">b</a></p>'),
        (bold("<text:a>b</text:a>") + "aa", '<p><a id="0"><span id="1">b</span></a>aa</p>'),
        (f"a{PICTURE}b", '<p>a<img id="0">b</p>'),
        ("a<text:tab/>b<text:line-break/>c", '<p>a<hr id="0">b<br id="1">c</p>'),
        ("\n  a\n  b", "<p>a b</p>"),
        ('a <text:s text:c="2"/>b', "<p>a   b</p>"),
        ('a<text:s text:c="99999999"/>b', '<p>a<img id="0">b</p>'),
        ("a<text:soft-page-break/>b", "<p>ab</p>"),
        (
            "<text:ruby><text:ruby-base>紫</text:ruby-base><text:ruby-text>むらさき</text:ruby-text></text:ruby>式部",
            "<p>紫式部</p>",
        ),
        ("a &lt; b &amp; c", "<p>a &lt; b &amp; c</p>"),
        ("<office:annotation><text:p>Really?</text:p></office:annotation>a", '<p><img id="0">a</p>'),
        (PICTURE, ""),
        ("", ""),
    ],
)
def test_paragraphs_are_read_as_html(written: str, html: str) -> None:
    """Adjacent text of the same look is joined, and anything that is not text becomes an object."""
    assert html_of(file(written)) == html


@pytest.mark.parametrize(
    "written",
    [
        f"a{bold('b')}c",
        f"aa{bold('b' + SLANTED_C + 'd')}",
        "<text:a>b</text:a>a",
        f"a{CONTROL}c",
        f"a{PICTURE}b" + NOTE.format("c") + "<text:s/>d",
        f"a{bold('b' + PICTURE)}",
        "a<text:tab/>b<text:line-break/>c",
        "<text:s/>a <text:s/>b",
        f"{PICTURE}<text:s/>a",
        "a &lt; b &amp; c",
        "<office:annotation><text:p>Really?</text:p></office:annotation>a",
    ],
)
def test_what_is_not_translated_stays(written: str) -> None:
    """Written back as it was read, a text is unchanged."""
    content = file(written)
    assert inside(with_translation(content, html_of(content))) == written


def test_a_long_paragraph_is_written_soon() -> None:
    """Half a million words: if the time grew with the square of their number, this would never end."""
    content = file("か " * 500_000 + "き")
    assert inside(with_translation(content, html_of(content))) == inside(content)


def test_what_a_paragraph_keeps_is_moved_soon() -> None:
    """However much that is: if the time grew with the square of its elements, this would take minutes."""
    lines = '<draw:line draw:id="a"/>' * 160_000
    drawing = f"<draw:frame>{lines}</draw:frame>"
    content = file(reduce(lambda inner, _: f"a<text:a>{bold('b')}c</text:a>{NOTE.format(inner)}", range(20), drawing))
    assert inside(with_translation(content, html_of(content))) == inside(content)


def test_words_in_another_order_keep_what_they_look_like() -> None:
    """Bold words stay bold, even if a piece is split in two."""
    content = file("aaa" + bold("b" + SLANTED_C) + PICTURE)
    assert html_of(content) == '<p>aaa<span id="0">b</span><span id="1">c<img id="2"></span></p>'
    written = inside(with_translation(content, '<p><span id="1">C</span>A<img id="2"> <span id="0">B  B</span></p>'))
    assert written == bold(span("Slanted", "C")) + f"A{PICTURE}<text:s/>" + bold("B <text:s/>B")


def test_notes_boxes_tables_and_headers_are_translated() -> None:
    """Each is a paragraph of its own; the body comes before headers, which are stored with the styles."""
    box = "<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>"
    table = "</text:p><table:table><table:table-cell><text:h>cell</text:h></table:table-cell></table:table><text:p>"
    content = file(
        f"a{NOTE.format('note')}{box}{table}b", styles=part("<style:header><text:p>head</text:p></style:header>")
    )
    assert re.findall(r"\w+(?=<img|</p>)", html_of(content)) == ["a", "note", "box", "cell", "b", "head"]
    translated = re.sub(r"\b(a|b|note|box|cell|head)(?=<)", lambda found: found[0].upper(), html_of(content))
    written = with_translation(content, translated)
    assert re.findall(r">([A-Z]+)<", paragraphs(written)) == ["A", "NOTE", "BOX", "CELL", "B"]
    with ZipFile(BytesIO(written)) as archive:
        assert "<text:p>HEAD</text:p>" in archive.read("styles.xml").decode()
        assert archive.infolist()[0].filename == "mimetype"
        assert archive.infolist()[0].compress_type == 0


def test_an_index_is_called_as_its_translation() -> None:
    """When a program updates the index, it takes the title from a template."""
    index = (
        "<text:table-of-content><text:table-of-content-source><text:index-title-template>{0}</text:index-title-template>"
        "</text:table-of-content-source><text:index-body><text:index-title><text:p>{0}</text:p></text:index-title>"
        "<text:p>{1}</text:p></text:index-body></text:table-of-content>"
    )
    content = file(f"</text:p>{index.format('か', 'き')}<text:p>")
    assert html_of(content) == "<p>か</p><p>き</p>"
    assert index.format("A", "B") in paragraphs(with_translation(content, "<p>A</p><p>B</p>"))


def test_references_show_the_translated_words() -> None:
    """LibreOffice would look them up only when asked to; numbers, pages and what is not found stay."""
    named = '<text:{0}-start text:name="n"/>{1}<text:{0}-end text:name="n"/>'
    reference = '<text:{0}-ref text:reference-format="{1}" text:ref-name="{2}">{3}</text:{0}-ref>'
    mark = named.format("reference-mark", f"く<text:s/>け{NOTE.format('注')}")
    content = file(
        named.format("bookmark", bold("か") + "き"),
        mark,
        *(
            f"こ{reference.format(*each)}"
            for each in (
                ("bookmark", "text", "n", "かき"),
                ("reference", "text", "n", "く け"),
                ("bookmark", "page", "n", "1"),
                ("bookmark", "text", "other", "さ"),
            )
        ),
    )
    found = html_of(content)
    translated = paragraphs(with_translation(content, found.translate(str.maketrans("かきくけこ", "ABCDE"))))
    assert re.findall(r">([^<>]*)</text:(?:bookmark|reference)-ref>", translated) == ["AB", "C D", "1", "さ"]


def test_deleted_text_is_not_translated() -> None:
    """Deleted text in tracked changes stays as it was."""
    deleted = "<text:tracked-changes><text:deletion><text:p>gone</text:p></text:deletion></text:tracked-changes>"
    content = file(f"a</text:p>{deleted}<text:p>b<text:change/>")
    assert html_of(content) == '<p>a</p><p>b<img id="0"></p>'
    assert "<text:p>gone</text:p>" in paragraphs(with_translation(content, html_of(content)))


def test_slides() -> None:
    """Shapes and speaker's notes are translated, but not the placeholder texts of master slides."""
    written = BytesIO()
    note = "<draw:frame><draw:text-box><text:p>note</text:p></draw:text-box></draw:frame>"
    with ZipFile(written, "w") as archive:
        archive.writestr("styles.xml", part("<text:p>Click to edit</text:p>"))
        archive.writestr("content.xml", part(f"<draw:page><text:p>title</text:p>{note}</draw:page>"))
    assert OPEN_SLIDE_FILES.html_of(written.getvalue()) == "<p>title</p><p>note</p>"


def test_a_file_of_another_program() -> None:
    """A file written by odfdo can be read by it again."""
    made = odfdo.Document("text")
    made.body.clear()
    made.body.append(odfdo.Header(1, "a"))
    paragraph = odfdo.Paragraph("b  c")
    paragraph.insert_note(after="b", note_id="n", citation="1", body="d")
    made.body.append(paragraph)
    saved = BytesIO()
    made.save(saved)
    html = html_of(saved.getvalue())
    assert html == '<p>a</p><p>b<img id="0">  c</p><p>d</p>'
    read = odfdo.Document(
        BytesIO(with_translation(saved.getvalue(), html.upper().replace("IMG ID", "img id").replace("P>", "p>")))
    )
    assert [each.text_recursive for each in read.body.get_headers()] == ["A"]
    found = read.body.get_paragraphs()[0]
    assert found.get_notes()[0].note_body == "D"
    assert found.text_recursive.endswith("  C")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"no archive", r"is not a valid \.odt"),
        (file("a").replace(b"content.xml", b"content.xmm"), r"is not a valid \.odt: it lacks"),
        (file("a", styles="\x00\x01 encrypted"), r"styles\.xml is damaged, or encrypted"),
        (file(reduce(lambda inner, _: bold(inner), range(300), "a")), "is damaged"),
    ],
)
def test_what_is_none_is_said(content: bytes, expected: str) -> None:
    """The error says what is wrong with the file."""
    with pytest.raises(InvalidInputError, match=expected):
        html_of(content)


def test_many_spans_around_each_other_are_refused() -> None:
    """Every piece of text would be wrapped in all of them."""
    deep = reduce(lambda inner, _: bold(inner), range(200), "a<text:tab/>" * 20_000)
    with pytest.raises(InvalidInputError, match="bytes of text formatting"):
        html_of(file(deep))
    many = " ".join(f'a{number}=""' for number in range(199))
    with pytest.raises(InvalidInputError, match="bytes of text formatting"):
        html_of(file(f'<text:span text:style-name="Bold" {many}>{"a<text:tab/>" * 2000}</text:span>'))
    with pytest.raises(InvalidInputError, match="more than 100000 pieces"):
        html_of(file("a<text:tab/>" * 51_000))


def test_many_namespaces_are_refused() -> None:
    """A table of all of them would be looked at for every piece of text."""
    declared = " ".join(f'xmlns:n{number}="urn:n{number}"' for number in range(100))
    with pytest.raises(InvalidInputError, match="declares more than 100 namespaces"):
        html_of(file(f"</text:p><text:section {declared}><text:p>a</text:p></text:section><text:p>"))


LEAF = st.one_of(
    st.text("ab &<\t\n", max_size=5).map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    st.sampled_from(
        [PICTURE, "<text:tab/>", "<text:s/>", '<text:s text:c="3"/>', "<text:line-break/>", NOTE.format("n")]
    ),
)
CONTENT = st.recursive(
    st.lists(LEAF, max_size=4).map("".join),
    lambda inner: st.one_of(
        st.builds(span, st.sampled_from(["Bold", "BoldLater", "Slanted", "Later", "Strong"]), inner),
        inner.map("<text:a>{}</text:a>".format),
        st.lists(inner, max_size=3).map("".join),
    ),
    max_leaves=8,
)


@given(CONTENT)
def test_a_text_put_in_again_says_the_same(written: str) -> None:
    """For any nesting, the text reads the same the second time as the first, and nothing is lost."""
    content = file(written)
    html = html_of(content)
    again = with_translation(content, html)
    assert html_of(again) == html
    for element in ("draw:frame", "text:tab", "text:note", "text:line-break"):
        there = re.compile(f"<{element}[ />]")
        assert len(there.findall(paragraphs(again))) == len(there.findall(written))
    assert not re.findall("xmlns|<run|<look|<text>", paragraphs(again))
    etree.fromstring(f"<a {NAMESPACES}>{paragraphs(again)}</a>")


def test_code_is_not_translated() -> None:
    """Neither words nor paragraphs in LibreOffice's styles for it."""
    listing = '</text:p><text:p text:style-name="{}">x = 1'
    words = f"か{span('Source_Text', 'a')}き"
    content = file(words, span("Source_20_Text", "b"), listing.format("Preformatted_20_Text"), listing.format("P1"))
    assert html_of(content) == '<p>か<code id="0">a</code>き</p>'
    same = paragraphs(with_translation(content, html_of(content)))
    written = paragraphs(with_translation(content, '<p>A<code id="0">a</code></p>'))
    assert written == same.replace("か", "A").replace("き", "")
    assert written.count("x = 1") == 2
