"""Word files: what is translated; everything else stays as it is."""

import html
import re
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from service.errors import InvalidInputError
from service.files.office.dialects import WORD
from service.files.office.fields import W
from service.files.office.files import WORD_FILES
from service.files.office.paragraph import Paragraph
from service.segmentation.splitting import split
from service.texts.tagged import Markup

html_of, with_translation = WORD_FILES.html_of, WORD_FILES.with_translation
NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
BOLD, SLANTED = "<w:b/>", "<w:i/>"
PICTURE = "<w:r><w:drawing/></w:r>"


def run(text: str, look: str = "") -> str:
    """A run of text."""
    return f'<w:r>{f"<w:rPr>{look}</w:rPr>" if look else ""}<w:t xml:space="preserve">{text}</w:t></w:r>'


BEGIN, SEPARATE, END = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))

EMPTY = "<w:r><w:rPr><w:b/></w:rPr></w:r>"


def said(instruction: str) -> str:
    """The instruction of a field."""
    return f'<w:r><w:instrText xml:space="preserve">{instruction}</w:instrText></w:r>'


def field(text: str) -> str:
    """A field, such as a page number, with the text that Word has filled in."""
    return f"{BEGIN}{said('PAGE')}{SEPARATE}{run(text)}{END}"


def link(shown: str) -> str:
    """A link as a field, its instruction in two pieces."""
    return f"{BEGIN}{said(' HYPER')}{said('LINK https://example.org ')}{SEPARATE}{shown}{END}"


def read_as(reading: str, shown: str) -> str:
    """Runs with a phonetic guide above them."""
    return f"<w:r><w:ruby><w:rt>{run(reading)}</w:rt><w:rubyBase>{shown}</w:rubyBase></w:ruby></w:r>"


def file(*paragraphs: str, **others: str) -> bytes:
    """A file with these paragraphs; other parts are given by name."""
    written = BytesIO()
    body = "".join(f"<w:p><w:pPr><w:keepNext/></w:pPr>{each}</w:p>" for each in paragraphs)
    document = f"<w:document {NAMESPACES}><w:body>{body}<w:sectPr/></w:body></w:document>"
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, content in {"document.xml": document, **others}.items():
            archive.writestr(f"word/{name}", content)
    return written.getvalue()


def document(content: bytes) -> str:
    """The paragraphs of a file's body, without namespace declarations."""
    with ZipFile(BytesIO(content)) as archive:
        text = archive.read("word/document.xml").decode()
    return re.sub(r' xmlns:\w+="[^"]*"', "", text.split("<w:body>")[1].split("<w:sectPr/>")[0])


def runs(content: bytes) -> list[list[tuple[str, bool | None]]]:
    """The runs of each paragraph, as python-docx reads them: text, and whether it is bold."""
    return [[(each.text, each.bold) for each in one.runs] for one in docx.Document(BytesIO(content)).paragraphs]


def both(choice: str, fallback: str) -> str:
    """A text box in two versions: for current programs and for older ones."""
    return (
        '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f'<mc:Choice Requires="wps">{choice}</mc:Choice><mc:Fallback>{fallback}</mc:Fallback>'
        "</mc:AlternateContent></w:r>"
    )


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (run("か") + run("き"), "かき"),
        (run("か", '<w:lang w:val="ja-JP"/>') + "<w:proofErr/>" + run("き", "<w:noProof/>"), "かき"),
        (run("かかか") + run("き", BOLD) + run("く", BOLD) + run("け"), 'かかか<span id="0">きく</span>け'),
        (run("か") + run("ききき", BOLD), '<span id="0">か</span>ききき'),
        (run("か") + run("き", BOLD) + run("く", SLANTED), 'か<span id="0">き</span><span id="1">く</span>'),
        (run("a &lt;b&gt; &amp;amp; c"), "a &lt;b&gt; &amp;amp; c"),
        (run("か") + PICTURE + run("き"), 'か<img id="0">き'),
        ("<w:bookmarkStart/>" + run("か"), '<img id="0">か'),
        (f'<w:hyperlink r:id="rId1">{run("か")}</w:hyperlink>' + run("き"), '<a id="0">か</a>き'),
        (f"<w:ins>{run('か', BOLD)}</w:ins>" + run("きき"), '<a id="0"><span id="1">か</span></a>きき'),
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('か')}</w:sdtContent></w:sdt>", '<a id="0">か</a>'),
        ("<w:del><w:r><w:delText>か</w:delText></w:r></w:del>" + run("き"), '<img id="0">き'),
        ("<w:r><w:t>か</w:t><w:ptab/><w:t>き</w:t></w:r>", 'か<hr id="0">き'),
        ("<w:r><w:t>か</w:t><w:br/><w:t>き</w:t><w:tab/><w:t>く</w:t></w:r>", 'か<br id="0">き<hr id="1">く'),
        ("<w:r><w:t>か</w:t><w:noBreakHyphen/><w:t>き</w:t></w:r>", "か\u2011き"),
        (run("か") + field("1") + run("き"), 'か<img id="0">き'),
        (run("か") + link(run("き")) + run("く"), 'か<a id="0">き</a>く'),
        (run("かか") + link(run("き", BOLD) + field("1")), 'かか<a id="0"><span id="1">き<img id="2"></span></a>'),
        (f"<w:ins>{link(run('き'))}</w:ins>", '<a id="0"><a id="1">き</a></a>'),
        (f'<w:fldSimple w:instr=" HYPERLINK a ">{run("か")}</w:fldSimple>', '<a id="0">か</a>'),
        (f'<w:fldSimple w:instr="HYPERLINK a"><w:fldData/>{run("か")}</w:fldSimple>', '<a id="0">か</a>'),
        (f'<w:fldSimple w:instr="PAGE">{run("1")}</w:fldSimple>' + run("か"), '<img id="0">か'),
        (run("か") + BEGIN + said(" REF _Ref1 \\h ") + SEPARATE + run("図1") + END, 'か<a id="0">図1</a>'),
        (f'<w:fldSimple w:instr=" REF _Ref1 ">{run("か")}</w:fldSimple>', '<a id="0">か</a>'),
        (BEGIN + said(" PAGEREF _Ref1 ") + SEPARATE + run("1") + END + run("か"), '<img id="0">か'),
        (BEGIN + said("HYPERLINK") + END + run("か"), '<img id="0">か'),
        (BEGIN + said(" FORMTEXT ") + EMPTY + SEPARATE + run("か") + END + run("き"), '<a id="0">か</a>き'),
        (BEGIN + said("FORMTEXT") + EMPTY + SEPARATE + run("\u2002") + END + run("き"), '<img id="0">き'),
        (run("か") + "<!-- き --><?p i?>", "か"),
        ("<w:r><w:t>か<!-- き -->く</w:t></w:r>", "かく"),
        ("<w:r><w:t>\n  か </w:t></w:r>" + run(" き"), "か き"),
        (run("売上は") + run("20", '<w:rFonts w:hint="eastAsia"/>') + run("億円"), "売上は20億円"),
        (run("かかか") + run("き", BOLD + "<w:rPrChange/>") + run("く", BOLD), 'かかか<span id="0">きく</span>'),
        ("<w:r><w:t>か</w:t><w:softHyphen/><w:t>き</w:t></w:r>", "かき"),
        (f"<w:moveTo>{run('か')}</w:moveTo><w:moveFrom>{run('き')}</w:moveFrom>", '<a id="0">か</a><img id="1">'),
        (f"<w:smartTag><w:smartTagPr/>{run('か')}</w:smartTag>", '<a id="0">か</a>'),
        (read_as("と", run("東")) + run("へ"), "東へ"),
        (read_as("と", run("東", BOLD)) + run("へ", BOLD) + run("行った"), '<span id="0">東へ</span>行った'),
        (read_as("と", run("東", BOLD) + run("京都", BOLD)) + run("へ"), '東京都<span id="0">へ</span>'),
    ],
)
def test_what_a_paragraph_says(paragraph: str, expected: str) -> None:
    """Text is grouped by its look, all else is a numbered tag; written back unchanged, it says the same."""
    content = file(paragraph)
    assert html_of(content) == f"<p>{expected}</p>"
    again = with_translation(content, html_of(content))
    assert html_of(again) == html_of(content)
    assert len(
        re.findall("<w:(?:drawing|fldChar|hyperlink|ins|del|sdt|br|tab|bookmarkStart)[ />]", document(again))
    ) == (len(re.findall("<w:(?:drawing|fldChar|hyperlink|ins|del|sdt|br|tab|bookmarkStart)[ />]", document(content))))


def test_a_large_initial_is_read_with_its_word() -> None:
    """It is a paragraph of its own; it stays so, with the first letter of the translation."""
    body = '<w:p><w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr>{}</w:p><w:p>{}</w:p>'

    def made(initial: str, text: str) -> bytes:
        return file(f"</w:p>{body.format(run(initial, BOLD), run(text))}<w:p><w:pPr/>")

    content = made("O", "nce upon a time.")
    assert html_of(content) == "<p>Once upon a time.</p>"
    assert document(with_translation(content, "<p>昔々。</p>")) == document(made("昔", "々。"))
    assert document(with_translation(content, "<p>「昔々」</p>")) == document(made("「昔", "々」"))
    assert document(with_translation(content, html_of(content))) == document(content)
    alone = file(f"</w:p>{body.format(run('O', BOLD), PICTURE)}<w:p><w:pPr/>")
    assert html_of(alone) == "<p>O</p>"


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (run(" "), ""),
        (PICTURE, ""),
        ("", ""),
        (field("1"), ""),
        (f"<w:moveFrom>{run('か')}</w:moveFrom>", ""),
    ],
)
def test_what_is_not_translated(paragraph: str, expected: str) -> None:
    """Paragraphs without text, or with only what Word fills in itself, are not translated."""
    content = file(paragraph, run("き"))
    assert html_of(content) == f"{expected}<p>き</p>"
    translated = with_translation(content, f"{expected}<p>A</p>")
    assert document(translated) == document(content).replace(run("き"), run("A"))


CODE_STYLES = '<w:style><w:name w:val="Code"/></w:style>' + "".join(
    f'<w:style w:styleId="{key}"><w:name w:val="{name}"/>{base}</w:style>'
    for key, name, base in (
        ("Words", "Verbatim Char", ""),
        ("Keyword", "Keyword Tok", '<w:basedOn w:val="Words"/>'),
        ("Lines", "HTML Preformatted", '<w:basedOn w:val="Keyword"/>'),
        ("Code", "Strong", '<w:basedOn w:val="Code"/>'),
        ("Plain", "Normal", ""),
    )
)


def code(text: str, style: str = "Words") -> str:
    """A run in a style."""
    return run(text, f'<w:rStyle w:val="{style}"/>')


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (run("か") + code("a") + run("き"), '<p>か<code id="0">a</code>き</p>'),
        (run("か") + code("&lt;") + code("b", "Keyword"), '<p>か<code id="0">&lt;</code><code id="1">b</code></p>'),
        (code("abcdef") + run("か"), '<p><code id="0">abcdef</code>か</p>'),
        (run("か") + code("a") + PICTURE, '<p>か<code id="0">a</code><img id="1"></p>'),
        (code("a", "Plain") + run("かき"), '<p><span id="0">a</span>かき</p>'),
        (code("a", "Code") + run("かき"), '<p><span id="0">a</span>かき</p>'),
        (code("a"), ""),
    ],
)
def test_code_is_not_translated(paragraph: str, expected: str) -> None:
    """Neither words nor paragraphs in one of the styles that programs have for it, or in a style based on one."""
    listing = f'</w:p><w:p><w:pPr><w:pStyle w:val="Lines"/></w:pPr>{run("x = 1")}'
    content = file(paragraph, listing, **{"styles.xml": f"<w:styles {NAMESPACES}>{CODE_STYLES}</w:styles>"})
    assert html_of(content) == expected
    assert document(with_translation(content, expected)) == document(content)


def test_fields_that_go_on_over_paragraphs_are_left_to_word() -> None:
    """An index, for example, is such a field; the text before and after it is translated."""
    content = file(run("か") + BEGIN + run("1"), run("2") + field("3"), run("4") + END + run("き"), run("く"))
    found = html_of(content)
    assert found == '<p>か<img id="0"></p><p><img id="0">き</p><p>く</p>'
    translated = document(with_translation(content, '<p>A<img id="0"></p><p><img id="0">B</p><p>C</p>'))
    assert translated == document(content).translate(str.maketrans("かきく", "ABC"))


def test_a_table_of_contents_is_translated() -> None:
    """It stays a field although its marks are not in the translated text, so Word can still update it."""
    page = field("1")
    entry = f'<w:hyperlink w:anchor="a">{run("か")}{page}</w:hyperlink>'
    begin = BEGIN + said('TOC \\o "1-3"') + SEPARATE
    content = file(begin + entry, link(run("き") + page), run("く") + END, END, run("け"))
    found = html_of(content)
    assert found == '<p><a id="0">か<img id="1"></a></p><p><a id="0">き<img id="1"></a></p><p>く</p><p>け</p>'
    turned = '<p>A <a id="0"><img id="1">b</a></p><p><a id="0">C<img id="1"></a></p><p>D</p><p>E</p>'
    assert document(with_translation(content, turned)) == document(
        file(
            begin + run("A ") + entry.replace(run("か") + page, page + run("b")),
            link(run("C") + page),
            run("D") + END,
            END,
            run("E"),
        )
    )


def test_links_that_a_translation_has_lost_twice_or_open() -> None:
    """Every field that begins must also end, or Word would not open the file."""
    content = file(run("かか") + link(run("き", BOLD)))
    for translation in (
        "A",
        '<a id="0">A</a> <a id="0">b</a>',
        '<a id="0">A',
        '<a id="0"><span id="1">A</a> b',
        "</a>A",
    ):
        kinds = re.findall('fldCharType="(\\w+)"', document(with_translation(content, f"<p>{translation}</p>")))
        assert kinds == ["begin", "separate", "end"] * translation.count("<a ")


def test_fields_deep_within_others_are_left_to_word() -> None:
    """Nobody nests fields so deeply, and the search for each costs time at every level around it."""
    nested = [run("か")]
    for _ in range(9):
        nested.append(link(nested[-1]))
    assert html_of(file(nested[8])).count("<a ") == 8
    assert html_of(file(nested[9] + run("き"))).endswith(f"{'</a>' * 8}き</p>")
    assert "か" not in html_of(file(nested[9] + run("き")))


def test_marks_between_text_are_no_links() -> None:
    """Fields stay if their marks share a run with text, surround something that is not a run, or were deleted."""
    mixed = BEGIN.replace("</w:r>", "<w:instrText>HYPERLINK</w:instrText><w:t>1</w:t></w:r>")
    whole = f"{mixed}{SEPARATE}{run('2')}{END}"
    gone = f"<w:del>{link('')}</w:del>"
    assert html_of(file(whole + gone + run("か"))) == '<p><img id="0"><img id="1">か</p>'
    computed = BEGIN + said("HYPERLINK ") + field("1") + SEPARATE + run("2") + END
    assert html_of(file(computed + run("か"))) == '<p><img id="0">か</p>'
    parted = BEGIN + said("HYPERLINK a") + "<w:bookmarkStart/>" + SEPARATE + run("2") + END
    assert html_of(file(parted + run("か"))) == '<p><img id="0">か</p>'
    inserted = f"<w:ins>{BEGIN}{said('HYPERLINK a')}{SEPARATE}</w:ins>{run('2')}<w:ins>{END}</w:ins>"
    assert html_of(file(inserted + run("か"))).endswith("か</p>")


def test_marks_with_what_is_dropped_between_them_are_a_link() -> None:
    """Between a link's marks Word may note page breaks and spelling errors, which are dropped."""
    page = "<w:lastRenderedPageBreak/>"
    content = file(
        BEGIN.replace("</w:r>", f"{page}</w:r>") + said("HYPERLINK") + "<w:proofErr/>" + SEPARATE + run("か") + END
    )
    assert html_of(content) == '<p><a id="0">か</a></p>'


def test_a_field_in_one_run_stays_whole() -> None:
    """Many programs write page numbers so: the marks form one object, which may be moved as a whole."""
    marks = "".join(re.findall("<w:r>(.*?)</w:r>", BEGIN + said("PAGE") + END))
    content = file(f"<w:r><w:t>か</w:t>{marks}<w:t>き</w:t></w:r>")
    assert html_of(content) == '<p>か<img id="0">き</p>'
    translated = document(with_translation(content, '<p><img id="0">A</p>'))
    assert re.findall('fldCharType="(\\w+)"|<w:(t) ', translated) == [("begin", ""), ("end", ""), ("", "t")]


def test_a_field_over_paragraphs_ends_where_it_did() -> None:
    """What precedes its beginning or follows its end stays there."""
    toc = BEGIN + said("TOC") + SEPARATE
    content = file("<w:bookmarkStart/>" + toc + run("か"), run("き") + END + run("く"))
    assert html_of(content) == '<p><img id="0"><img id="1">か</p><p>き<img id="0">く</p>'
    again = document(with_translation(content, html_of(content)))
    assert again == document(content)


def test_space_of_east_asia_is_text() -> None:
    """Only what XML 1.0 (section 2.3) calls white space is dropped, which excludes the ideographic space."""
    assert html_of(file("<w:r><w:t>\n 氏名\u3000</w:t></w:r>")) == "<p>氏名\u3000</p>"


def test_names_that_a_run_declares_stay_with_what_it_has() -> None:
    """A picture that requires a namespace by its prefix needs the declaration."""
    picture = '<w:r xmlns:wps="urn:wps"><w:drawing Requires="wps"/></w:r>'
    content = file(run("か") + picture)
    with ZipFile(BytesIO(with_translation(content, html_of(content)))) as archive:
        assert re.search(r'<w:r [^>]*xmlns:wps="urn:wps"[^>]*><w:drawing', archive.read("word/document.xml").decode())


def test_a_translation_looks_as_the_text_did() -> None:
    """Formatting follows the translation's tags; text outside them has the look of most of the paragraph."""
    content = file(run("かかか。", SLANTED) + run("き", BOLD), run("く") + PICTURE)
    translated = with_translation(content, '<p><span id="0">A &amp; b</span> c.</p><p>D<img id="0"> e</p>')
    assert document(translated) == (
        f"<w:p><w:pPr><w:keepNext/></w:pPr>{run('A &amp; b', BOLD)}{run(' c.', SLANTED)}</w:p>"
        f"<w:p><w:pPr><w:keepNext/></w:pPr>{run('D')}{PICTURE}{run(' e')}</w:p>"
    )


def test_what_a_translation_has_lost_is_kept() -> None:
    """A lost picture is put last, once; a link that occurs twice is written twice; a stray closing tag is ignored."""
    link = f'<w:hyperlink r:id="rId1">{run("き")}</w:hyperlink>'
    content = file(run("かか") + PICTURE + link)
    translated = with_translation(content, '<p></span>A<a id="1">b</a> <a id="1">c</a></p>')
    assert document(translated).count("<w:drawing/>") == 1
    assert document(translated).endswith(f"{PICTURE}</w:p>")
    assert [len(each) for each in re.findall('<w:hyperlink r:id="rId1">(.*?)</w:hyperlink>', document(translated))] == [
        len(run("b"))
    ] * 2


def test_long_addresses_are_links_still() -> None:
    """Splitting does not take tags next to a long address for part of it."""
    address = "https://example.org/" + "%E3%81%8B" * 30
    for tag in ("a", "span"):
        page = f'<p>か<{tag} id="0">{address}</{tag}>き<{tag} id="1">く</{tag}></p>'
        tagged = Markup("html").read(page, "ja", join_lines=True)
        split_blocks = [split(block, "ja", longest=1000, most=100) for block in tagged.blocks]
        whole = tagged.segmented(split_blocks)
        assert whole.join([tagged.restored(each) for each in whole.sentences], gap="") == page


def test_what_xml_does_not_allow_is_left_out() -> None:
    """The file can be opened whatever characters a translation contains."""
    translated = with_translation(file(run("か")), "<p>a\ufffe&#1;b</p>")
    assert run("ab") in document(translated)


def test_boxes_within_a_paragraph_are_paragraphs_of_their_own() -> None:
    """Both the text around a text box and the text in it are translated."""
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('く')}</w:p></w:txbxContent></w:pict></w:r>"
    content = file(run("か") + box + run("き"))
    assert html_of(content) == '<p>か<img id="0">き</p><p>く</p>'
    translated = document(with_translation(content, '<p>A<img id="0">b</p><p>C</p>'))
    assert (
        translated == f"<w:p><w:pPr><w:keepNext/></w:pPr>{run('A')}{box.replace(run('く'), run('C'))}{run('b')}</w:p>"
    )


def test_controls_keep_their_translation() -> None:
    """Word and LibreOffice fill those bound to the file's title with it when they open the file."""
    rich = "http://schemas.microsoft.com/office/word/2012/wordml"
    bindings = "<w:dataBinding w:xpath='/x'/>", f'<n:dataBinding xmlns:n="{rich}" w:xpath="/x"/>'
    for binding in bindings:
        control = f"<w:sdt><w:sdtPr><w:id w:val='1'/>{binding}</w:sdtPr><w:sdtContent>{{}}</w:sdtContent></w:sdt>"
        around = control.format(f"<w:p>{run('け')}</w:p>")
        box = f"<w:r><w:pict><w:txbxContent>{around}</w:txbxContent></w:pict></w:r>"
        content = file(run("か") + control.format(run("き")) + control.format(PICTURE), box)
        assert document(with_translation(content, html_of(content))).count("dataBinding") == 1


def test_headers_notes_and_comments_are_translated_and_nothing_else() -> None:
    """Other parts come back byte for byte, even if their names are similar."""
    part = f"<w:ftr {NAMESPACES}><w:p>{run('か')}</w:p></w:ftr>"
    read = ("header1", "footer22", "footnotes", "endnotes", "comments")
    others = {f"{name}.xml": part for name in (*read, "styles", "commentsExtended")}
    content = file(run("か"), **others)
    assert html_of(content) == "<p>か</p>" * 6
    translated = with_translation(content, "".join(f"<p>{number}</p>" for number in range(6)))
    with ZipFile(BytesIO(content)) as before, ZipFile(BytesIO(translated)) as after:
        assert after.namelist() == before.namelist()
        for name in ("[Content_Types].xml", "word/styles.xml", "word/commentsExtended.xml"):
            assert after.read(name) == before.read(name)
        assert ">4</w:t>" in after.read("word/endnotes.xml").decode()
        assert ">5</w:t>" in after.read("word/comments.xml").decode()


def test_diagrams_and_charts_are_translated() -> None:
    """In Word files, too, their text is in DrawingML, as on slides."""
    names = "http://schemas.openxmlformats.org/drawingml/2006/main"
    drawn = f'<d xmlns:a="{names}"><a:p><a:r><a:rPr lang="ja"/><a:t>{{}}</a:t></a:r></a:p><a:t>か</a:t></d>'
    parts = {"diagrams/data1": "き", "diagrams/drawing1": "き", "charts/chart12": "く"}
    content = file(run("か"), **{f"{name}.xml": drawn.format(text) for name, text in parts.items()})
    assert html_of(content) == "<p>か</p><p>き</p><p>き</p><p>く</p>"
    with ZipFile(BytesIO(with_translation(content, html_of(content).replace("く", "A")))) as archive:
        assert "<a:t>A</a:t>" in archive.read("word/charts/chart12.xml").decode()


def test_file_of_word_in_a_browser() -> None:
    """Word in a browser numbers all parts."""
    parts = {"document22": "か", "header2": "き", "footnotes2": "く", "endnotes3": "け"}
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        for name, text in reversed(parts.items()):
            archive.writestr(f"word/{name}.xml", f"<w:document {NAMESPACES}><w:p>{run(text)}</w:p></w:document>")
    html = html_of(written.getvalue())
    assert html == "<p>か</p><p>け</p><p>く</p><p>き</p>"
    with ZipFile(BytesIO(with_translation(written.getvalue(), html.replace("か", "A")))) as archive:
        assert ">A</w:t>" in archive.read("word/document22.xml").decode()


def test_a_file_of_another_program() -> None:
    """A file written by python-docx can be read by it again."""
    made = docx.Document()
    made.add_heading("か", 1)
    paragraph = made.add_paragraph("かか")
    paragraph.add_run("き").bold = True
    made.add_table(1, 1).cell(0, 0).text = "く"
    written = BytesIO()
    made.save(written)
    content = written.getvalue()
    assert html_of(content) == '<p>か</p><p>かか<span id="0">き</span></p><p>く</p>'
    translated = with_translation(content, '<p>A</p><p><span id="0">B</span> c</p><p>D</p>')
    assert runs(translated) == [[("A", None)], [("B", True), (" c", None)]]
    assert docx.Document(BytesIO(translated)).tables[0].cell(0, 0).text == "D"


def renamed(name: str) -> Callable[[], bytes]:
    """A file with a single part of that name."""

    def make() -> bytes:
        written = BytesIO()
        with ZipFile(written, "w") as archive:
            archive.writestr(name, "<a/>")
        return written.getvalue()

    return make


def doubled() -> bytes:
    """A file with two documents of the same name."""
    written = BytesIO(file(run("か")))
    with ZipFile(written, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("word/document.xml", "<a/>")
    return written.getvalue()


def strange(packing: int) -> Callable[[], bytes]:
    """A file that is compressed by a method other than the usual one."""

    def make() -> bytes:
        written = BytesIO()
        with ZipFile(written, "w", packing) as archive:
            archive.writestr("word/document.xml", "<a/>")
        return written.getvalue()

    return make


def bomb() -> bytes:
    """A file that is small until it is unpacked."""
    return file(run("か"), **{"media/a.bin": "\0" * (2**26 + 1)})


def longer_than_it_says() -> bytes:
    """A file with a part that is longer than its declared size."""
    content = bytearray(file(run("か") + "<!-- -->" * 50_000))
    with ZipFile(BytesIO(content)) as archive:
        said = archive.getinfo("word/document.xml").file_size.to_bytes(4, "little")
    return bytes(content).replace(said, (1000).to_bytes(4, "little"))


def damaged() -> bytes:
    """A file with one byte changed in its document."""
    content = bytearray(file(run("か")))
    content[content.index(b"word/document.xml") + 40] ^= 255
    return bytes(content)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: b"a", "is not a valid .docx: File is not a zip file"),
        (renamed("xl/workbook.xml"), "lacks what such a file contains"),
        (doubled, "lacks what such a file contains"),
        (bomb, "bytes when it is unpacked"),
        (lambda: file(**{f"{number}": "" for number in range(20_000)}), "it has more than 20000 parts"),
        (lambda: file(**{"a" * 1000: ""}), "a part's name is longer than 1000 characters"),
        (damaged, "word/document.xml is damaged"),
        (longer_than_it_says, "word/document.xml is damaged"),
        (
            lambda: file(f'<w:r><w:rPr><w:b w:val="{"a" * 100_000}"/></w:rPr><w:t>か</w:t>{"<w:tab/>" * 1000}</w:r>'),
            "bytes of text formatting",
        ),
        (
            lambda: file("<w:r " + " ".join(f'xmlns:a{n}="a{n}"' for n in range(21)) + "><w:t>か</w:t></w:r>"),
            "20 namespaces",
        ),
        (
            lambda: file(
                "<w:r "
                + " ".join(f'xmlns:a{n}="{n:0200}"' for n in range(20))
                + f">{'<w:tab/>' * 7000}<w:t>か</w:t></w:r>"
            ),
            "bytes of text formatting",
        ),
        (
            lambda: file(
                "<w:r><w:rPr " + " ".join(f'a{n}=""' for n in range(200)) + f"/><w:t>か</w:t>{'<w:tab/>' * 3000}</w:r>"
            ),
            "bytes of text formatting",
        ),
        (
            lambda: file("<w:r " + " ".join(f'a{n}=""' for n in range(201)) + "><w:t>か</w:t></w:r>"),
            "an element with more than 200 attributes",
        ),
        (
            lambda: file(f'<w:r xmlns:a="{"a" * 257}"><w:rPr><a:b/></w:rPr><w:t>か</w:t></w:r>'),
            "a namespace whose name is longer than 256 characters",
        ),
        (lambda: file(**{"document.xml": "<w:p>"}), "word/document.xml is damaged"),
        (lambda: file(**{"document.xml": " " * (2**23 + 1)}), "its text has more than 8388608 bytes"),
        (lambda: file("<w:a/>" * 500_000), "more than 500000 tags"),
        (lambda: file(**{"document.xml": '<d xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"/>'}), "Strict"),
        (strange(ZIP_BZIP2), "unsupported method of compression"),
        (strange(ZIP_LZMA), "unsupported method of compression"),
    ],
)
def test_a_file_of_something_else_is_refused(make: Callable[[], bytes], problem: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(InvalidInputError, match=problem):
        html_of(make())


def test_declarations_are_refused() -> None:
    """Word writes none, and an entity could read other files or expand without limit."""
    declared = '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body = f"<w:document {NAMESPACES}><w:body><w:p><w:r><w:t>か&a;&f;</w:t></w:r></w:p></w:body></w:document>"
    with pytest.raises(InvalidInputError, match=r"word/document\.xml is damaged: it has a DTD"):
        html_of(file(**{"document.xml": declared + body}))


TEXTS = st.text("かき a&<>", min_size=1).map(html.escape)
PIECES = st.recursive(
    st.builds(run, TEXTS, st.sampled_from(["", BOLD, SLANTED]))
    | st.sampled_from([PICTURE, "<w:bookmarkStart/>", field("1"), "<w:r><w:br/></w:r>"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        .map("".join)
        .flatmap(lambda some: st.sampled_from([f'<w:hyperlink r:id="rId1">{some}</w:hyperlink>', link(some)]))
    ),
    max_leaves=8,
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_any_paragraph_comes_back(paragraph: str) -> None:
    """Its text and its objects, in order, in looks that it had before."""
    content = file(run("か"), paragraph)
    again = with_translation(content, html_of(content))
    assert html_of(again) == html_of(content)
    texts = ["".join(_root(each).itertext(f"{W}t")) for each in (content, again)]
    assert texts[0] == texts[1]
    looks = [{etree.tostring(look, method="c14n") for look in _root(each).iter(f"{W}rPr")} for each in (content, again)]
    assert looks[1] <= looks[0]
    for name in ("drawing", "fldChar", "br", "bookmarkStart"):
        counts = [len(list(_root(each).iter(f"{W}{name}"))) for each in (content, again)]
        assert counts[0] == counts[1]


def _root(content: bytes) -> Any:
    with ZipFile(BytesIO(content)) as archive:
        return etree.fromstring(archive.read("word/document.xml"))


def test_what_is_there_for_two_kinds_of_programs_is_translated_once() -> None:
    """Both versions get the translation, each in its own style; where their texts differ, each gets its own."""
    new, old = (
        f'<w:p><w:pPr><w:pStyle w:val="{name}"/></w:pPr>{run("き", BOLD)}{run("くく")}</w:p>' for name in ("new", "old")
    )
    content = file(run("か") + both(new, old), run("さ") + both(new, old.replace("き", "け")))
    bold = '<span id="0">き</span>くく'
    assert html_of(content) == (
        f'<p>か<img id="0"></p><p>{bold}</p><p>さ<img id="0"></p><p>{bold}</p><p>{bold.replace("き", "け")}</p>'
    )
    translated = with_translation(content, html_of(content).replace("き", "A").replace("くく", "B"))
    shown = re.findall(r'<w:pStyle w:val="(\w+)"/></w:pPr>(.*?)</w:p>', document(translated))
    assert [name for name, _ in shown] == ["new", "old"] * 2
    assert [re.findall(r"<w:t[^>]*>(.*?)</w:t>", runs) for _, runs in shown] == [["A", "B"]] * 3 + [["け", "B"]]
    assert all("<w:b/>" in runs for _, runs in shown)
    assert with_translation(translated, html_of(translated)) == translated


def test_alternates_within_others_are_translated() -> None:
    """Inner alternates are translated separately; if copied with the outer ones, a file could grow at every level."""
    inner = both(f"<w:p>{run('き')}</w:p>", f"<w:p>{run('き')}</w:p>")
    outer = f"<w:p>{run('か')}{inner}</w:p>"
    content = file(run("さ") + both(outer, outer))
    assert html_of(content) == '<p>さ<img id="0"></p><p>か<img id="0"></p><p>き</p><p>き</p>'
    translated = with_translation(content, html_of(content).replace("か", "A").replace("き", "B"))
    assert re.findall(r"<w:t[^>]*>(.*?)</w:t>", document(translated)) == ["さ", *"ABBABB"]


def test_paragraphs_within_others_are_copied_once() -> None:
    """They are copied along with the paragraph around them; otherwise a small file could grow into a huge one."""
    inner = f"<w:r><w:pict><w:p>{run('き')}</w:p></w:pict></w:r>"
    outer, empty = f"<w:p>{run('か')}{inner}</w:p>", f"<w:p>{inner}</w:p>"
    content = file(run("さ") + both(outer, outer) + both(empty, empty))
    copied = [each.html for each in Paragraph.all_of(_root(content), WORD) if each.copy is not None]
    assert copied == ['<p>か<img id="0"></p>', "<p>き</p>"]
    translated = with_translation(content, html_of(content).replace("か", "A").replace("き", "B"))
    assert re.findall(r"<w:t[^>]*>(.*?)</w:t>", document(translated)) == ["さ", *"ABABBB"]


def test_a_run_with_many_fields_is_read_soon() -> None:
    """Even after much that is dropped: if the time grew with the product of both, this would never end."""
    marks = "".join(re.findall("<w:fld.*?/>|<w:instr.*?/w:instrText>", link("")))
    content = file(f"<w:r>{'<w:softHyphen/>' * 60_000}{marks * 20_000}</w:r>{run('か')}")
    assert html_of(content) == '<p><img id="0">か</p>'


def test_fields_of_a_form_that_end_elsewhere_are_read_soon() -> None:
    """If each of them were searched for text up to the end of the paragraph, this would never end."""
    one = f"{BEGIN}{said('FORMTEXT')}{SEPARATE}<w:ins>{END}</w:ins>"
    assert html_of(file(one * 10_000 + run("か"))).endswith('">か</p>')


def test_what_a_paragraph_keeps_is_moved_soon() -> None:
    """However much that is: if the time grew with the square of its elements, this would take minutes."""
    deleted = f"<w:del>{'<w:a/>' * 100_000}</w:del>"
    one = f"<w:p>{run('か')}</w:p>"
    boxes = f"<w:r><w:pict>{one * 60_000}</w:pict></w:r>"
    content = file(f"{'<w:r><w:pict><w:p>' * 60}{boxes}{deleted}{'</w:p></w:pict></w:r>' * 60}")
    assert document(with_translation(content, html_of(content))) == document(content)
