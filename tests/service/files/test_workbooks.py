"""Workbooks: what is translated; formulas, tables and everything else stay correct."""

import re
from collections.abc import Callable
from io import BytesIO
from itertools import islice, product
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table, TableFormula

from service.errors import InvalidInputError
from service.files.workbooks.tables import Label, Names
from service.files.workbooks.workbook import html_of, with_translation

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMESPACES = f'xmlns="{MAIN}" xmlns:r="{KINDS}"'
BOLD = "<rPr><b/></rPr>"
SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def relations(**targets: str) -> str:
    """A relationships part, by kind; a number at the end of a kind tells several of it apart."""
    each = (
        f'<Relationship Id="{kind}" Type="{KINDS}/{kind.rstrip("0123456789")}" Target="{target}"/>'
        for kind, target in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{"".join(each)}</Relationships>'


def shared(*numbers: int) -> str:
    """Cells whose texts are in the shared table."""
    return "".join(f'<c t="s"><v>{number}</v></c>' for number in numbers)


def inline(*texts: str) -> str:
    """Cells with texts of their own."""
    return "".join(f'<c t="inlineStr"><is>{text}</is></c>' for text in texts)


def sheet(*rows: str) -> str:
    """The XML of a sheet with these rows."""
    return f"<worksheet {NAMESPACES}><sheetData>{''.join(f'<row>{row}</row>' for row in rows)}</sheetData></worksheet>"


def file(*sheets: str, strings: str = "", **others: str | bytes) -> bytes:
    """A workbook with these sheets; other parts are given by name, with __ for /."""
    names = [f"worksheet{number}" for number, _ in enumerate(sheets, 1)]
    listed = "".join(f'<sheet name="{name}" r:id="{name}"/>' for name in names)
    targets = {name: f"worksheets/sheet{number}.xml" for number, name in enumerate(names, 1)}
    parts: dict[str, str | bytes] = {
        "workbook.xml": f"<workbook {NAMESPACES}><sheets>{listed}</sheets></workbook>",
        "_rels__workbook.xml.rels": relations(sharedStrings="/xl/sharedStrings.xml", **targets),
        "sharedStrings.xml": f"<sst {NAMESPACES}>{strings}</sst>",
        **{f"worksheets__sheet{number}.xml": each for number, each in enumerate(sheets, 1)},
        **others,
    }
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, content in parts.items():
            archive.writestr(f"xl/{name.replace('__', '/')}", content)
    return written.getvalue()


def part(content: bytes, name: str) -> str:
    """One part of a workbook."""
    with ZipFile(BytesIO(content)) as archive:
        return archive.read(name).decode()


def saved(made: Workbook) -> bytes:
    """A workbook as openpyxl writes it."""
    written = BytesIO()
    made.save(written)
    return written.getvalue()


def translated(content: bytes, by: dict[str, str]) -> bytes:
    """Translate a workbook by replacing whole paragraphs."""
    turned = re.sub(r"<p>(.*?)</p>", lambda found: f"<p>{by.get(found[1], found[1])}</p>", html_of(content))
    return with_translation(content, turned)


def cells(content: bytes) -> list[list[list[Any]]]:
    """The rows of each sheet, as openpyxl reads them."""
    return [[[cell.value for cell in row] for row in each] for each in load_workbook(BytesIO(content))]


@pytest.mark.parametrize("cell", [shared, inline])
@pytest.mark.parametrize(
    ("text", "expected", "again"),
    [
        ("<t>か</t>", "か", "<t>か</t>"),
        ("<r><t>か</t></r><r><t>き</t></r>", "かき", "<t>かき</t>"),
        (f"<r><t>かか</t></r><r>{BOLD}<t>き</t></r>", 'かか<span id="0">き</span>', None),
        (f"<r>{BOLD}<t>か</t></r>", "か", None),
        (
            '<r><t>か</t></r><r><rPr><rFont val="a"/></rPr><t>b</t></r>',
            "かb",
            '<r><rPr><rFont val="a"/></rPr><t>かb</t></r>',
        ),
        (
            '<r><rPr><b/><rFont val="a"/></rPr><t>か</t></r><r><rPr><b/><family val="2"/></rPr><t>きき</t></r>',
            "かきき",
            '<r><rPr><b/><family val="2"/></rPr><t>かきき</t></r>',
        ),
        ('<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/>', "東京", "<t>東京</t>"),
        ("<t>か\nき</t>", 'か<br id="0">き', "<t>か\nき</t>"),
        ("<t>か_x000D_\nき_x000a_く</t>", 'か<br id="0">き<br id="1">く', "<t>か\nき\nく</t>"),
        ("<t>_x005F_x000D_ か_x0001_</t>", "_x000D_ か", "<t>_x005F_x000D_ か</t>"),
        ('<t xml:space="preserve"> か </t>', " か ", "<t> か </t>"),
        ("<t> か </t>", "か", "<t>か</t>"),
        ("<t>=か &lt;b&gt; &amp;amp;</t>", "=か &lt;b&gt; &amp;amp;", "<t>=か &lt;b&gt; &amp;amp;</t>"),
        ("<t>か<!-- き --></t>", "か", "<t>か</t>"),
    ],
)
def test_what_a_cell_says(cell: Callable[..., str], text: str, expected: str, again: str | None) -> None:
    """Text is grouped by its look, with a break for each line end; written back unchanged, it says the same."""
    content = file(sheet(cell(0)), strings=f"<si>{text}</si>") if cell is shared else file(sheet(cell(text)))
    assert html_of(content) == f"<p>{expected}</p>"
    written = with_translation(content, html_of(content))
    assert html_of(written) == html_of(content)
    of_text = re.search("<(si|is)>(.*)</(si|is)>", part(written, STRINGS if cell is shared else SHEET), re.DOTALL)
    assert of_text is not None
    assert of_text[2].replace(' xml:space="preserve"', "") == (again or text)


@pytest.mark.parametrize(
    "cell",
    [
        "<c><v>1</v></c>",
        '<c t="b"><v>1</v></c>',
        '<c t="e"><v>#N/A</v></c>',
        '<c t="d"><v>2026-11-28</v></c>',
        '<c t="str"><f>"か"&amp;A1</f><v>か</v></c>',
        '<c t="inlineStr"><f>A1</f><is><t>か</t></is></c>',
        '<c s="1"/>',
        shared(1, 2, 3),
        f'<c t="s"><v>{"9" * 5000}</v></c>',
        '<c t="s"><v>か</v></c><c t="s"><v>-1</v></c><c t="s"><v>99</v></c><c t="s"/>',
        inline("", "<t> </t>", "<t>2,000 %</t>"),
    ],
)
def test_what_is_not_translated(cell: str) -> None:
    """Numbers, dates, formula results, texts without words, and strings that no cell uses stay byte for byte."""
    strings = '<si><t>き</t></si><si/><si><t>2024/1</t></si><si><t> </t></si><si><t>く</t><rPh sb="0" eb="1"/></si>'
    content = file(sheet(shared(0), cell), strings=strings)
    assert html_of(content) == "<p>き</p>"
    written = with_translation(content, "<p>A</p>")
    assert part(written, SHEET) == part(content, SHEET)
    assert part(written, STRINGS) == part(content, STRINGS).replace("<t>き", '<t xml:space="preserve">A')


def test_texts_are_read_as_people_read_them() -> None:
    """Sheet by sheet and row by row, with each one's comments and boxes; repeated texts are translated once."""
    box = '<a:p xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:r><a:t>{}</a:t></a:r></a:p>'
    threaded = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    content = file(
        sheet(shared(3, 0), inline("<t>い</t>", "<t>う</t>") + shared(3)),
        sheet(shared(1, 0) + inline("<t>い</t>")),
        strings="".join(f"<si><t>{text}</t></si>" for text in "かきくけけ"),
        **{
            "worksheets___rels__sheet1.xml.rels": relations(
                drawing="../drawings/drawing1.xml",
                comments="/xl/comments1.xml",
                threadedComment="../threadedComments/threadedComment1.xml",
            ),
            "drawings__drawing1.xml": f"<d>{box.format('は')}</d>",
            "drawings___rels__drawing1.xml.rels": relations(chart="../charts/chart7.xml"),
            "charts__chart7.xml": f"<c>{box.format('ひ')}</c>",
            "charts__chart8.xml": f"<c>{box.format('ふ')}</c>",
            "comments1.xml": f"<comments {NAMESPACES}><authors><author>ま</author></authors><commentList><comment>"
            f"<text><r><t>み</t></r></text></comment></commentList></comments>",
            "threadedComments__threadedComment1.xml": f'<ThreadedComments xmlns="{threaded}"><threadedComment>'
            "<text>む\nめ</text></threadedComment></ThreadedComments>",
        },
    )
    said = ["け", "か", "い", "う", "み", 'む<br id="0">め', "は", "ひ", "き"]
    assert html_of(content) == "".join(f"<p>{each}</p>" for each in said)
    written = translated(content, {"け": "A", "い": "B", "み": "C", 'む<br id="0">め': 'D<br id="0">E', "ひ": "F"})
    space = ' xml:space="preserve"'
    assert part(written, STRINGS).replace(space, "").count("<si><t>A</t></si>") == 2
    assert part(written, SHEET).replace(space, "") == part(content, SHEET).replace("い", "B")
    second = "xl/worksheets/sheet2.xml"
    assert part(written, second).replace(space, "") == part(content, second).replace("い", "B")
    assert "<text><t" in part(written, "xl/comments1.xml")
    assert "ま" in part(written, "xl/comments1.xml")
    assert "<text>D\nE</text>" in part(written, "xl/threadedComments/threadedComment1.xml")
    assert "<a:t>F</a:t>" in part(written, "xl/charts/chart7.xml")
    for name in ("[Content_Types].xml", "xl/workbook.xml", "xl/charts/chart8.xml"):
        assert part(written, name) == part(content, name)


def test_comments_that_mention_somebody_stay() -> None:
    """A mention is stored as a position in the text, which a translation would shift."""
    threaded = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    for mentions, expected in (("", "<p>か</p>"), ("<mentions><mention/></mentions>", "")):
        comments = f'<a xmlns="{threaded}"><threadedComment><text>か</text>{mentions}</threadedComment></a>'
        rels = relations(threadedComment="../a.xml")
        content = file(sheet(), **{"worksheets___rels__sheet1.xml.rels": rels, "a.xml": comments})
        assert html_of(content) == expected


def test_a_workbook_of_another_program() -> None:
    """A workbook by openpyxl can be read by it again: texts, bold parts, merged cells, comments and a chart's title."""
    made = Workbook()
    first: Any = made.active
    first.title = "売上"
    first.append(["か\nき", 1, "=A1"])
    first["A2"] = CellRichText("くく", TextBlock(InlineFont(b=True), "け"))
    first["A2"].comment = Comment("こ", "田中")
    first.merge_cells("A3:C3")
    first["A3"] = "さ"
    chart = BarChart()
    chart.title = "し"
    chart.add_data(Reference(first, min_col=2, min_row=1))
    first.add_chart(chart, "E1")
    made.create_sheet("二")["B2"] = "さ"
    content = saved(made)
    assert html_of(content) == ('<p>か<br id="0">き</p><p>くく<span id="0">け</span></p><p>さ</p><p>こ</p><p>し</p>')
    turned = '<p>A<br id="0">B</p><p><span id="0">D</span> c</p><p>E</p><p>F</p><p>G</p>'
    found = load_workbook(BytesIO(with_translation(content, turned)), rich_text=True)
    assert found.sheetnames == ["売上", "二"]
    one = found["売上"]
    assert [cell.value for cell in one[1]] == ["A\nB", 1, "=A1"]
    bold, plain = one["A2"].value
    assert (bold.text, bold.font.b, str(plain)) == ("D", True, " c")
    assert (one["A2"].comment.text, one["A3"].value, found["二"]["B2"].value) == ("F", "E", "E")
    assert [str(each) for each in one.merged_cells.ranges] == ["A3:C3"]
    assert one._charts[0].title.tx.rich.p[0].r[0].t == "G"


def test_columns_are_called_as_their_header_cells() -> None:
    """Names are made unique: to Excel a file is damaged if two columns share a name or names differ from the cells."""
    made = Workbook()
    first: Any = made.active
    first.append(["名前", "氏名", "備考\n欄", "Name2", "値"])
    first.append(["か", "名前", "き", "く", "値"])
    first.append(["合計", None, None, None, None])
    table = Table(displayName="表", ref="A1:E3", totalsRowCount=1)
    table._initialise_columns()
    for column, cell in zip(table.tableColumns, first[1], strict=True):
        column.name = cell.value.replace("\n", "_x000a_")
    table.tableColumns[0].totalsRowLabel = "合計"
    first.add_table(table)
    content = saved(made)
    long = {"値": "x" * 250}
    written = translated(
        content, dict.fromkeys(("名前", "氏名"), "Name") | {'備考<br id="0">欄': "N_x000D_", "合計": "Sum"} | long
    )
    ((header, *rows),) = cells(written)
    assert header == ["Name", "Name2", "N_x005F_x000D_\n", "Name22", "値"]
    assert rows[0][1] == "Name"
    (of_table,) = [content for name, content in _parts(written).items() if "/tables/" in name]
    assert re.findall('<tableColumn [^>]*name="([^"]*)"', of_table) == [
        "Name",
        "Name2",
        "N_x005F_x000D__x000a_",
        "Name22",
        "値",
    ]
    assert re.findall('totalsRowLabel="([^"]*)"', of_table) == ["Sum"] == [rows[1][0]]
    assert load_workbook(BytesIO(written)).active.tables["表"].column_names[:2] == ["Name", "Name2"]


def _parts(content: bytes) -> dict[str, str]:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_what_formulas_refer_to_stays() -> None:
    """Texts in quotation marks, column names, list choices and filter values stay, or formulas would miss the cells."""
    made = Workbook()
    first: Any = made.active
    first.append(["状態", "単価", "個数", "計"])
    first.append(["完了", "はい", "か", "=表[[#This Row],[単価]]*表[個数]"])
    first.append(["未 完了", '"き"', "いいえ", '=COUNTIF(A:A,"完了")&"未  完了"&"""き"""'])
    first.append(["済", "東京", "大阪", "京都"])
    table = Table(displayName="表", ref="A1:D3")
    table._initialise_columns()
    for column, cell in zip(table.tableColumns, first[1], strict=True):
        column.name = cell.value
    table.tableColumns[3].calculatedColumnFormula = TableFormula(attr_text='"東京"')
    first.add_table(table)
    choice = DataValidation("list", formula1='"はい,いいえ"')
    choice.add("B2")
    first.add_data_validation(choice)
    first.auto_filter.ref = "A1:D4"
    first.auto_filter.add_filter_column(0, ["済"])
    content = saved(made)
    assert html_of(content) == "<p>状態</p><p>計</p><p>か</p><p>大阪</p><p>京都</p>"
    written = translated(content, {"状態": "State", "計": "Total"})
    assert cells(written)[0][0] == ["State", "単価", "個数", "Total"]
    assert cells(written)[0][1:] == cells(content)[0][1:]


@pytest.mark.parametrize(
    ("text", "is_code"),
    [
        *((code, True) for code in ("SKU-1234", "AB12-XY", "PO2024/001", "3F", "v1.2.3", "report.pdf", "user_name")),
        *((words, False) for words in ("SALE", "A-B", "Step1", "Room 101", "SKU 1234", "か-1", "No.", "and/or")),
    ],
)
def test_codes_stay(text: str, is_code: bool) -> None:
    """Other programs and files identify things by them."""
    assert html_of(file(sheet(inline(f"<t>{text}</t>")))) == ("" if is_code else f"<p>{text}</p>")


@pytest.mark.parametrize("criterion", ["完了", "=完了", "<>完了", ">完了", "<完了", ">=完了", "<=完了"])
def test_what_criteria_name_stays(criterion: str) -> None:
    """The text after a criterion's operator stays; otherwise the comparison would match nothing."""
    made = Workbook()
    first: Any = made.active
    first.append(["完了", "か", f'=SUMIFS(B:B,A:A,"{criterion}")'])
    assert html_of(saved(made)) == "<p>か</p>"


def test_texts_that_some_programs_write_as_values() -> None:
    """They are texts like any other in cells without a formula, but not in cells that an array formula fills."""
    cell = '<c r="{}" t="str">{}<v>{}</v></c>'
    rows = (
        cell.format("A1", "", "か_x005F_x0041_&amp;") + cell.format("B1", "", "か_x005F_x0041_&amp;"),
        cell.format("A2", '<f t="array" ref="A2:A3">B1:B2</f>', "き") + cell.format("B2", "<f>B1</f>", "き"),
        cell.format("A3", "", "き") + cell.format("B3", "", "け"),
    )
    content = file(sheet(*rows))
    assert html_of(content) == "<p>か_x0041_&amp;</p><p>け</p>"
    found = part(translated(content, {"か_x0041_&amp;": "A_x0041_&amp;", "け": "E"}), SHEET)
    assert re.findall("<v>(.*?)</v>", found) == ["A_x005F_x0041_&amp;"] * 2 + ["き"] * 3 + ["E"]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("COUNTIF(A:A,&quot;ok&quot;)", ["B", "か", "さ"]),
        ("VLOOKUP(A1,A:B,2,FALSE)", ["OK", "B", "さ"]),
        ("A1=A2", ["OK", "B", "さ"]),
        ("SUM(B:B)", ["OK", "B", "B"]),
    ],
)
def test_no_text_becomes_one_that_formulas_take_for_another(formula: str, expected: list[str]) -> None:
    """A translation is dropped if it equals a formula's text or, where formulas compare cells, another translation."""
    content = file(sheet(inline("<t>か</t>", "<t>き</t>", "<t>さ</t>"), f"<c><f>{formula}</f></c>"))
    written = translated(content, {"か": "OK", "き": "B", "さ": "b" if "A1" in formula else "B"})
    assert sorted(cells_inline(written)) == sorted(expected)


@pytest.mark.parametrize(
    "formula", ["INDIRECT(A1&amp;&quot;!B1&quot;)", "HYPERLINK(&quot;#&quot;&amp;A1,A1)", "SUM(B1)"]
)
def test_names_of_places_stay_where_formulas_make_them_of_cells(formula: str) -> None:
    """Names of sheets, ranges and tables stay if a formula builds references from cells; else they are mere texts."""
    names = '<definedNames><definedName name="き">A1</definedName></definedNames>'
    main = f'<workbook {NAMESPACES}><sheets><sheet name="か" r:id="worksheet1"/></sheets>{names}</workbook>'
    column = '<tableColumns><tableColumn name="x"/></tableColumns>'
    table = f'<table {NAMESPACES} ref="D1:D2" displayName="く" headerRowCount="0">{column}</table>'
    parts = {
        "workbook.xml": main,
        "worksheets___rels__sheet1.xml.rels": relations(table="../table.xml"),
        "table.xml": table,
    }
    rows = sheet(inline(*(f"<t>{text}</t>" for text in "かきくけ")), f"<c><f>{formula}</f></c>")
    assert html_of(file(rows, **parts)) == ("<p>か</p><p>き</p><p>く</p>" if "SUM" in formula else "") + "<p>け</p>"


def test_titles_of_newer_charts() -> None:
    """Waterfall charts and the like are stored in a different kind of part."""
    drawing = '<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"/>'
    names = 'xmlns:cx="c" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    chart = f"<cx:chart {names}><a:p><a:r><a:t>か</a:t></a:r></a:p></cx:chart>"
    content = file(
        sheet(),
        **{
            "worksheets___rels__sheet1.xml.rels": relations(drawing="../drawing.xml"),
            "drawing.xml": drawing,
            "_rels__drawing.xml.rels": relations(chartEx="chart.xml"),
            "chart.xml": chart,
        },
    )
    assert html_of(content) == "<p>か</p>"


def test_names_of_parts_are_alike_in_capitals_and_small_letters() -> None:
    """Names of parts ignore case; also, a closing tag in a comment does not end the shared texts."""
    strings = {"SharedStrings.xml": f"<sst {NAMESPACES}><si><t>か</t></si></sst><!-- </sst> -->"}
    content = file(sheet(shared(0)), **strings)
    with ZipFile(BytesIO(content)) as archive, ZipFile(renamed := BytesIO(), "w") as other:
        for info in archive.infolist():
            if info.filename != STRINGS:
                other.writestr(info.filename, archive.read(info))
    assert html_of(renamed.getvalue()) == "<p>か</p>"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('ref="A1:A2"', "A"),
        ('ref="$A$1:$A$2" headerRowCount="1"', "A"),
        ('ref="A1:A2" headerRowCount="0"', "か"),
        ('ref="A2:A3"', "か"),
        ('ref="か"', "か"),
        ("", "か"),
    ],
)
def test_columns_without_header_cells_keep_their_names(table: str, expected: str) -> None:
    """Even if the cell at that place already differs from the name, which is not for us to repair."""
    columns = f'<table {NAMESPACES} {table}><tableColumns><tableColumn name="か"/></tableColumns></table>'
    parts = {"worksheets___rels__sheet1.xml.rels": relations(table="../table.xml"), "table.xml": columns}
    rows = [inline(f"<t>{text}</t>") for text in "かきく"]
    written = translated(file(sheet(*rows), **parts), dict(zip("かきく", "ABC", strict=True)))
    assert f'name="{expected}"' in part(written, "xl/table.xml")
    assert cells_inline(written) == ["A", "き" if table == 'ref="A2:A3"' else "B", "C"]


def test_no_column_is_called_as_one_that_stays() -> None:
    """Names that differ only in case would clash."""
    columns = "".join(f'<tableColumn name="{name}"/>' for name in ("か", "Total"))
    table = f'<table {NAMESPACES} ref="A1:B2"><tableColumns>{columns}</tableColumns></table>'
    parts = {"worksheets___rels__sheet1.xml.rels": relations(table="../table.xml"), "table.xml": table}
    rows = sheet(inline("<t>か</t>", "<t>Total</t>"), "<c><f>SUM(T[total])</f></c>")
    written = with_translation(file(rows, **parts), "<p>total</p>")
    assert cells_inline(written) == ["total2", "Total"]
    assert 'name="total2"/><tableColumn name="Total"' in part(written, "xl/table.xml")


def test_how_a_text_is_read_is_not_what_it_says() -> None:
    """Phonetic readings, which Excel adds to most Japanese texts, do not matter to tables or formulas."""
    table = f'<table {NAMESPACES} ref="A1:A2"><tableColumns><tableColumn name="状態"/></tableColumns></table>'
    parts = {"worksheets___rels__sheet1.xml.rels": relations(table="../table.xml"), "table.xml": table}
    strings = "".join(
        f'<si><t>{text}</t><rPh sb="0" eb="2"><t>{read}</t></rPh></si>'
        for text, read in (("状態", "ジョウタイ"), ("完了", "カンリョウ"))
    )
    content = file(sheet(shared(0), shared(1), '<c><f>COUNTIF(A:A,"完了")</f></c>'), strings=strings, **parts)
    written = with_translation(content, "<p>State</p>")
    assert 'name="State"' in part(written, "xl/table.xml")
    assert "<t>完了</t><rPh" in part(written, STRINGS)


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ('<pivotCacheDefinition><cacheField name="か"/></pivotCacheDefinition>', "pivotCacheDefinition"),
        ('<slicerCacheDefinition sourceName="か"/>', "slicerCache"),
    ],
)
def test_what_pivot_tables_refer_to_stays(named: str, kind: str) -> None:
    """The fields of a pivot table have the names of header cells."""
    workbook = f'<workbook {NAMESPACES}><sheets><sheet r:id="worksheet"/></sheets></workbook>'
    others = relations(worksheet="worksheets/sheet1.xml", **{kind: "other.xml"})
    parts = {"workbook.xml": workbook, "_rels__workbook.xml.rels": others, "other.xml": named}
    assert html_of(file(sheet(inline("<t>か</t>", "<t>き</t>")), **parts)) == "<p>き</p>"


def test_headers_stay_that_queries_refer_to() -> None:
    """A query may refer to columns in ways that cannot be seen in the workbook."""
    table = f'<table {NAMESPACES} ref="A1:A2"><tableColumns><tableColumn name="か"/></tableColumns></table>'
    parts = {"worksheets___rels__sheet1.xml.rels": relations(table="../table.xml"), "table.xml": table}
    rows = sheet(inline("<t>か</t>"), inline("<t>き</t>"))
    assert html_of(file(rows, **parts)) == "<p>か</p><p>き</p>"
    own = relations(worksheet1="worksheets/sheet1.xml", connections="connections.xml")
    parts |= {"_rels__workbook.xml.rels": own, "connections.xml": "<c/>"}
    assert html_of(file(rows, **parts)) == "<p>き</p>"


def test_formulas_are_computed_anew() -> None:
    """Stored results stem from the old texts, so Excel is told to recalculate them, but only if there are any."""
    formula = '<c t="str"><f>A1</f><v>か</v></c>'
    content = file(sheet(inline("<t>か</t>") + formula))
    written = part(with_translation(content, "<p>A</p>"), "xl/workbook.xml")
    assert '</sheets><calcPr fullCalcOnLoad="1"/></workbook>' in written
    assert formula in part(with_translation(content, "<p>A</p>"), SHEET)
    without = file(sheet(inline("<t>か</t>")))
    assert part(with_translation(without, "<p>A</p>"), "xl/workbook.xml") == part(without, "xl/workbook.xml")


def test_a_translation_may_be_too_long_for_a_cell() -> None:
    """Excel would cut it off, so the original stays; it also stays if the translation has no words."""
    content = file(sheet(shared(0) + inline("<t>き\nく</t>", "<t>け</t>")), strings="<si><t>か</t></si>")
    for long in ("a" * 32_768, "𠮷" * 16_384):
        written = with_translation(content, f'<p>{long}</p><p>{"a" * 32_765}<br id="0"></p><p> </p>')
        assert part(written, STRINGS) == part(content, STRINGS)
        assert [len(text) for text in cells_inline(written)] == [32_766, 1]
        assert cells_inline(written)[1] == "け"
    written = with_translation(content, f'<p>A</p><p>{"a" * 32_766}<br id="0">b</p><p>A</p>')
    assert cells_inline(written)[0] == "き\nく"
    written = with_translation(content, f"<p>{'a' * 32_767}</p><p>{'𠮷' * 16_383}</p><p>A</p>")
    assert "a" * 32_767 in part(written, STRINGS)
    assert [len(text) for text in cells_inline(written)] == [16_384, 1]


def cells_inline(content: bytes) -> list[str]:
    """The inline texts of the first sheet's cells."""
    return re.findall("<is><t[^>]*>(.*?)</t></is>", part(content, SHEET), re.DOTALL)


def test_boxes_for_programs_of_another_age() -> None:
    """The copy of a box for older programs gets the same translation; external links are not followed."""
    names = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    )
    box = "<a:p><a:r><a:t>か</a:t></a:r></a:p>"
    both = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    rels = relations(drawing="../a.xml")
    out = rels.replace("<Relationship ", '<Relationship TargetMode="External" ')
    parts = {"worksheets___rels__sheet1.xml.rels": rels, "a.xml": f"<d {names}>{both}</d>"}
    content = file(sheet(), **parts)
    assert html_of(content) == "<p>か</p>"
    assert part(with_translation(content, "<p>A</p>"), "xl/a.xml").count("<a:t>A</a:t>") == 2
    assert html_of(file(sheet(), **parts | {"worksheets___rels__sheet1.xml.rels": out})) == ""
    tabs = f"<d {names}><a:p><a:r><a:t>か{chr(9) * 100_001}</a:t></a:r></a:p></d>"
    with pytest.raises(InvalidInputError, match="more than 100000 tabs"):
        html_of(file(sheet(), **parts | {"a.xml": tabs}))


def test_what_is_no_sheet_is_not_read_as_one() -> None:
    """Even if the workbook lists it as a sheet."""
    listed = f'<workbook {NAMESPACES}><sheets><sheet r:id="sharedStrings"/><sheet r:id="a"/><sheet r:id="worksheet1"/>'
    content = file(sheet(shared(0)), strings="<si><t>か</t></si>", **{"workbook.xml": f"{listed}</sheets></workbook>"})
    assert html_of(content) == "<p>か</p>"


def test_names_of_elements_may_have_a_prefix() -> None:
    """Some programs write them so."""
    prefixed = {
        "worksheets__sheet1.xml": f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData><x:row><x:c t="inlineStr">'
        "<x:is><x:r><x:rPr><x:b/></x:rPr><x:t>か</x:t></x:r><x:r><x:t>きき</x:t></x:r></x:is></x:c>"
        '<x:c t="s"><x:v>0</x:v></x:c></x:row></x:sheetData></x:worksheet>',
        "sharedStrings.xml": f'<?xml version="1.0"?>\n<x:sst xmlns:x="{MAIN}"><x:si><x:t>く</x:t></x:si></x:sst>',
    }
    content = file(sheet(), **prefixed)
    assert html_of(content) == '<p><span id="0">か</span>きき</p><p>く</p>'
    written = with_translation(content, '<p>A<span id="0">b</span></p><p>C</p>')
    space = ' xml:space="preserve"'
    runs = "<x:r><x:t>A</x:t></x:r><x:r><x:rPr><x:b/></x:rPr><x:t>b</x:t></x:r>"
    assert runs in part(written, SHEET).replace(space, "")
    assert part(written, STRINGS).replace(space, "") == part(content, STRINGS).replace("く", "C")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"is not a valid \.xlsx"),
        (file(sheet())[:-40], r"is not a valid \.xlsx"),
        (file(sheet() + "<"), "sheet1.xml is damaged"),
        (file('<?xml version="1.0" encoding="か"?>' + sheet()), "sheet1.xml is damaged"),
        (file('<?xml version="1.0" encoding="a"?>' + sheet()), "sheet1.xml is damaged, or encrypted: unknown encoding"),
        (file(sheet(), **{"sharedStrings.xml": sheet().encode("utf-16")}), "sharedStrings.xml is not in UTF-8"),
        (file(sheet(), strings="<si>"), "sharedStrings.xml is damaged"),
        (file(sheet(inline("<x:t>か</x:t>"))), "sheet1.xml is damaged"),
        (file('<!DOCTYPE a [<!ENTITY b "c">]>' + sheet()), "has a DTD"),
        (file(sheet(), **{"_rels__workbook.xml.rels": "<a"}), "workbook.xml.rels is damaged"),
        (
            file(**{"workbook.xml": '<workbook xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"/>'}),
            r"Strict Open XML: save it as an ordinary \.xlsx",
        ),
    ],
)
def test_a_file_of_something_else_is_refused(content: bytes, expected: str) -> None:
    """The error says why; an encrypted workbook, for example, is not a valid one."""
    with pytest.raises(InvalidInputError, match=expected):
        html_of(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lambda: sheet("<a>" * 300), "nests them more than 256 deep"),
        (lambda: sheet("".join(f"<a{number}/>" for number in range(1001))), "1000 kinds of elements"),
        (lambda: sheet(f"<c {'a' * 2**20}=''/>"), "of more than a megabyte"),
        (lambda: sheet("<c/>" * 2**23), "more than 8388608 tags"),
        (lambda: sheet(inline(*map(str, range(250_002)))), "more than 250000 texts"),
        (lambda: sheet(inline(*(f"<r><t>{number}</t></r>" for number in range(90_000)))), "or 500000 tags"),
        (
            lambda: sheet("".join(f'<c><f>"{number}"</f></c>' for number in range(100_001))),
            "name more than 100000 texts",
        ),
        (
            lambda: sheet(inline(f'<t xml:space="preserve">{"か" + chr(10) * 50_001 + "き" + chr(10) * 50_000}</t>')),
            "more than 100000 lines",
        ),
    ],
)
def test_sheets_that_were_made_to_take_long_are_refused(content: Callable[[], str], expected: str) -> None:
    """Each would take much memory or time to process; the check itself keeps nothing in memory."""
    with pytest.raises(InvalidInputError, match=expected):
        html_of(file(content()))


def test_what_texts_look_like_may_not_be_said_in_too_many_bytes() -> None:
    """The limit on bytes of formatting counts every variant of what people see as one text."""
    runs = [
        f'<r><rPr><sz val="{look * 20_000}"/></rPr><t xml:space="preserve">か{chr(10) * 999}</t></r>' for look in "123"
    ]
    strings = "".join(f"<si>{run}</si>" for run in runs)
    assert html_of(file(sheet(shared(0)), strings=strings)).count("<br") == 999
    with pytest.raises(InvalidInputError, match="bytes of text formatting"):
        html_of(file(sheet(shared(0, 1, 2)), strings=strings))


PIECES = st.tuples(st.text("か a\n_x05F", min_size=1), st.sampled_from(["", BOLD]))


@given(st.lists(PIECES, min_size=1, max_size=5))
def test_any_text_comes_back(pieces: list[tuple[str, str]]) -> None:
    """Both its characters and what is bold in it."""
    runs = (f'<r>{look}<t xml:space="preserve">{text}</t></r>' for text, look in pieces)
    content = file(sheet(inline("<t>く</t>", "".join(runs))))
    again = with_translation(content, html_of(content))
    assert html_of(again) == html_of(content)


def test_columns_whose_names_differ_in_their_case_are_told_apart_soon() -> None:
    """Ten thousand columns may become such names: if the time grew with the square, this would take minutes."""
    names, columns = Names(), [Label(etree.Element("tableColumn"), "name", set())]
    told = [names.take("".join(name), columns) for name in islice(product(*["xX"] * 14), 10_000)]
    assert told == ["", *map(str, range(2, 10_001))]


def test_a_formula_of_columns_that_are_not_closed_is_read_soon() -> None:
    """While it is searched nobody else is served."""
    content = file(sheet(f"""<c><f>{"['" * 250_000}</f></c>""", inline("<t>か</t>")))
    assert html_of(content) == "<p>か</p>"


def test_a_long_text_on_many_sheets_is_looked_at_once() -> None:
    """If the time grew with the product of its length and their number, this would take minutes."""
    text = f"か{'{' * 200_000}"
    content = file(*[sheet(shared(0, 1))] * 1_000, strings=f"<si><t>{text}</t></si>" * 2)
    assert html_of(content) == f"<p>{text}</p>"
