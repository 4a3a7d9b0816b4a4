"""Slides: what is translated; everything else stays as it is."""

import re
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from service.errors import InvalidInputError
from service.files.office.files import SLIDE_FILES

html_of, with_translation = SLIDE_FILES.html_of, SLIDE_FILES.with_translation
NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
BOLD, LINK = 'b="1"', '<a:hlinkClick r:id="rId1"/>'
NUMBER = '<a:fld id="{1}" type="slidenum"><a:rPr lang="ja-JP"/><a:t>1</a:t></a:fld>'
END = '<a:endParaRPr lang="ja-JP"/>'


def run(text: str, attributes: str = "", inside: str = "") -> str:
    """A run of text."""
    look = f"<a:rPr {attributes}>{inside}</a:rPr>" if inside else f"<a:rPr {attributes}/>" if attributes else ""
    return f"<a:r>{look}<a:t>{text}</a:t></a:r>"


def slide(*paragraphs: str) -> str:
    """The XML of a slide with one shape."""
    body = "".join(f'<a:p><a:pPr lvl="1"/>{each}</a:p>' for each in paragraphs)
    return f"<p:sld {NAMESPACES}><p:txBody><a:bodyPr/>{body}</p:txBody></p:sld>"


def file(*paragraphs: str, **others: str) -> bytes:
    """A file with one slide; other parts are given by name."""
    written = BytesIO()
    parts = {"presentation.xml": "<p/>", "slides/slide1.xml": slide(*paragraphs), **others}
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, content in parts.items():
            archive.writestr(f"ppt/{name}", content)
    return written.getvalue()


def body(content: bytes) -> str:
    """The paragraphs of the first slide."""
    with ZipFile(BytesIO(content)) as archive:
        text = archive.read("ppt/slides/slide1.xml").decode()
    return re.sub(r' xmlns:\w+="[^"]*"', "", text.split("<a:bodyPr/>")[1].split("</p:txBody>")[0])


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (run("か") + run("き") + END, "かき"),
        (run("か", 'lang="ja-JP" altLang="en-US" dirty="0"') + run("き", 'err="1"'), "かき"),
        (run("かか", 'lang="ja-JP"') + run("き", f'lang="ja-JP" {BOLD}'), 'かか<span id="0">き</span>'),
        (run("かか") + run("き", "", LINK) + run("く", 'lang="ja-JP"', LINK), 'かか<span id="0">きく</span>'),
        (run("か") + "<a:br><a:rPr/></a:br>" + run("き"), 'か<br id="0">き'),
        (run("かか") + run("き", BOLD) + "<a:br/>" + run("く"), 'かか<span id="0">き</span><br id="1">く'),
        (run("か\tき"), 'か<hr id="0">き'),
        (run("かか") + run("\tき", BOLD), 'かか<hr id="0"><span id="1">き</span>'),
        (run("か") + NUMBER, 'か<img id="0">'),
        (run(" a &lt;b&gt; "), " a &lt;b&gt; "),
        (run("か") + "<a:m/>" + END, 'か<img id="0">'),
    ],
)
def test_what_a_paragraph_says(paragraph: str, expected: str) -> None:
    """Text is grouped by its look, all else is a numbered tag; written back unchanged, it says the same."""
    content = file(paragraph)
    assert html_of(content) == f"<p>{expected}</p>"
    again = with_translation(content, html_of(content))
    assert html_of(again) == html_of(content)
    for name in ("br", "fld", "m", "hlinkClick", "pPr", "endParaRPr"):
        assert body(again).count(f"<a:{name}") == (1 if f"<a:{name}" in body(content) else 0)


def test_a_translation_is_written_as_powerpoint_writes() -> None:
    """The paragraph's end properties stay last, and white space is not marked for preservation, as it always counts."""
    content = file(run("かか", 'lang="ja-JP"') + run("き", BOLD) + NUMBER + END)
    translated = with_translation(content, '<p> A <span id="0">b</span><img id="1"> c</p>')
    assert body(translated) == (f'<a:p><a:pPr lvl="1"/>{run(" A ")}{run("b", BOLD)}{NUMBER}{run(" c")}{END}</a:p>')


@pytest.mark.parametrize("paragraph", ["", NUMBER, END, run(" ")])
def test_what_is_not_translated(paragraph: str) -> None:
    """Paragraphs without text of their own are not translated."""
    content = file(paragraph, run("か"))
    assert html_of(content) == "<p>か</p>"
    assert body(with_translation(content, "<p>A</p>")) == body(content).replace(run("か"), run("A"))


def relations(*targets: str) -> str:
    """A relationships part: rId1 and so on."""
    each = (
        f'<Relationship Id="rId{number}" Type="x/{target.split("/")[-2].removesuffix("s")}" Target="{target}"/>'
        for number, target in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{"".join(each)}</Relationships>'


def test_slides_are_read_in_their_order() -> None:
    """The presentation gives the order; each slide is followed by its notes and drawings, but not by linked slides.

    Parts that no slide refers to come last.
    """
    order = "".join(f'<p:sldId id="{number}" r:id="rId{number}"/>' for number in (3, 1, 2, 3, 4))
    parts = {
        "presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "_rels/presentation.xml.rels": relations(*(f"slides/slide{number}.xml" for number in (10, 2, 9))),
        "slides/_rels/slide10.xml.rels": relations(
            "../slides/slide9.xml", "../charts/chart1.xml", "../notesSlides/notesSlide1.xml"
        ),
        "slides/_rels/slide2.xml.rels": relations("../diagrams/data1.xml", "../slideLayouts/slideLayout1.xml"),
    }
    texts = "slides/slide2", "slides/slide9", "slides/slide10", "notesSlides/notesSlide1", "diagrams/data1"
    drawn = "charts/chart1", "charts/chartEx1", "drawings/drawing1", "diagrams/drawing1"
    behind = "slideMasters/slideMaster1", "slideLayouts/slideLayout1"
    parts |= {f"{name}.xml": slide(run(name.split("/")[1])) for name in (*texts, *drawn, *behind)}
    content = file(run("1"), **parts)
    expected = [
        "slide9",
        "slide10",
        "chart1",
        "notesSlide1",
        "slide2",
        "data1",
        "1",
        "chartEx1",
        "drawing1",
        "drawing1",
    ]
    assert html_of(content) == "".join(f"<p>{each}</p>" for each in expected)
    translated = with_translation(content, html_of(content).replace("slide", "Slide"))
    with ZipFile(BytesIO(content)) as before, ZipFile(BytesIO(translated)) as after:
        assert after.namelist() == before.namelist()
        for name in ("[Content_Types].xml", "ppt/slideMasters/slideMaster1.xml", "ppt/slideLayouts/slideLayout1.xml"):
            assert after.read(name) == before.read(name)
        assert "Slide10" in after.read("ppt/slides/slide10.xml").decode()


def test_a_slide_that_is_listed_again_and_again_is_read_once() -> None:
    """If the time grew with how often it is listed, and with what it refers to, this would never end."""
    order = "".join(f'<p:sldId id="{number}" r:id="rId{number}"/>' for number in range(1, 10_001))
    parts = {
        "presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "_rels/presentation.xml.rels": relations(*["slides/slide1.xml"] * 10_000),
        "slides/_rels/slide1.xml.rels": relations(*["../charts/chart1.xml"] * 10_000),
    }
    assert html_of(file(run("か"), **parts)) == "<p>か</p>"


def test_a_file_of_another_program() -> None:
    """A file by python-pptx can be read by it again: a title, a table, a chart's title, and notes."""
    content = _made()
    assert html_of(content) == ('<p>か</p><p>きき<span id="0">く</span></p><p>け</p><p>こ</p><p>さ</p>')
    turned = '<p>A</p><p><span id="0">C</span> b</p><p>D</p><p>E</p><p>F</p>'
    presentation = Presentation(BytesIO(with_translation(content, turned)))
    (first,) = presentation.slides
    title, text, table, chart = first.shapes
    assert title.text_frame.text == "A"
    assert [(each.text, each.font.bold) for each in text.text_frame.paragraphs[0].runs] == [("C", True), (" b", None)]
    assert table.table.cell(0, 0).text == "D"
    assert chart.chart.chart_title.text_frame.text == "F"
    assert first.notes_slide.notes_text_frame.text == "E"


def _made() -> bytes:
    presentation: Any = Presentation()
    made = presentation.slides.add_slide(presentation.slide_layouts[1])
    made.shapes.title.text = "か"
    paragraph = made.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "きき"
    bold = paragraph.add_run()
    bold.text, bold.font.bold = "く", True
    made.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1)).table.cell(0, 0).text = "け"
    made.notes_slide.notes_text_frame.text = "こ"
    data = CategoryChartData()
    data.categories = ["し"]
    data.add_series("す", (1.0,))
    chart = made.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(2), Inches(2), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "さ"
    written = BytesIO()
    presentation.save(written)
    return written.getvalue()


def test_a_file_of_something_else_is_refused() -> None:
    """The error says what is wrong."""
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    with pytest.raises(InvalidInputError, match=r"is not a valid \.pptx"):
        html_of(written.getvalue())
    for many in ("\t", "&#9;"):
        with pytest.raises(InvalidInputError, match="more than 100000 tabs"):
            html_of(file(run(many * 100_001)))
    with pytest.raises(InvalidInputError, match=r"Strict Open XML: save it as an ordinary \.pptx"):
        html_of(file(**{"slides/slide2.xml": '<s xmlns="http://purl.oclc.org/ooxml/presentationml/main"/>'}))


PIECES = st.one_of(
    st.builds(run, st.text("かき a\t", min_size=1), st.sampled_from(["", BOLD]), st.sampled_from(["", LINK])),
    st.sampled_from([NUMBER, "<a:br/>"]),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_any_paragraph_comes_back(paragraph: str) -> None:
    """Its text and its objects, in order."""
    content = file(run("か"), paragraph + END)
    again = with_translation(content, html_of(content))
    assert html_of(again) == html_of(content)
    texts = ["".join(re.findall("<a:t>(.*?)</a:t>", body(each))) for each in (content, again)]
    assert texts[0] == texts[1]
