"""LibreOffice's workbooks: what is translated; what formulas look for stays."""

import re
from collections.abc import Callable
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import odfdo
import pytest
from lxml import etree

from service.errors import InvalidInputError
from service.files.workbooks.open_workbook import html_of, with_translation

URN = "urn:oasis:names:tc:opendocument:xmlns"
NAMESPACES = " ".join(
    [
        *(f'xmlns:{name}="{URN}:{name}:1.0"' for name in ("office", "table", "text")),
        f'xmlns:draw="{URN}:drawing:1.0"',
        'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"',
    ]
)


def cell(*lines: str, content: str = "", **attributes: str) -> str:
    """A cell with lines of text; attributes are in the namespace `table` unless they begin with `office_`."""
    said = [
        f'{name.replace("office_", "office:") if name.startswith("office_") else f"table:{name}"}="{value}"'
        for name, value in attributes.items()
    ]
    paragraphs = "".join(f"<text:p>{line}</text:p>" for line in lines)
    return f"<table:table-cell {' '.join(said)}>{paragraphs}{content}</table:table-cell>"


def table(*cells: str, name: str = "one", before: str = "") -> str:
    """A sheet with a cell in each row."""
    rows = "".join(f"<table:table-row>{each}</table:table-row>" for each in cells)
    return f'<table:table table:name="{name}">{before}{rows}</table:table>'


def file(*tables: str, before: str = "", behind: str = "") -> bytes:
    """A workbook with these sheets."""
    body = f"<office:body><office:spreadsheet>{before}{''.join(tables)}{behind}</office:spreadsheet></office:body>"
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", f"<office:document-content {NAMESPACES}>{body}</office:document-content>")
    return written.getvalue()


def texts_of(content: bytes) -> list[str]:
    """The paragraphs that are translated."""
    return re.findall(r"<p>(.*?)</p>", html_of(content))


def translated(content: bytes, said: Callable[[str], str] = str.upper) -> list[str]:
    """The paragraphs of a workbook after its texts have been replaced by `said`."""
    page = re.sub(r"(?<=>)[^<>]+(?=<)", lambda found: said(found[0]), html_of(content))
    with ZipFile(BytesIO(with_translation(content, page))) as archive:
        root = etree.fromstring(archive.read("content.xml"))
    return ["".join(each.itertext()) for each in root.iter(f"{{{URN}:text:1.0}}p")]


def test_cells_are_translated_in_their_order() -> None:
    """Sheet by sheet, each line of a cell and the text of boxes is translated; numbers and codes stay."""
    box = "<draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>"
    number = {"office_value-type": "float", "office_value": "3"}
    first = table(cell("one", "two"), cell("3 days", **number), cell("a.pdf"), cell("seven", content=box))
    content = file(first, table(cell("last"), name="two"))
    assert texts_of(content) == ["one", "two", "seven", "in a box", "last"]
    assert translated(content) == ["ONE", "TWO", "3 days", "a.pdf", "SEVEN", "IN A BOX", "LAST"]


def test_a_text_of_several_cells_is_translated_once() -> None:
    """Equal cells stay equal whatever their context, so that formulas can find one by the other."""
    content = file(table(cell("one"), cell("two"), cell("one")))
    assert texts_of(content) == ["one", "two"]
    assert translated(content) == ["ONE", "TWO", "ONE"]


FILTER = '<table:filter-condition table:field-number="0" table:value="Done" table:operator="="/>'
VALIDATION = '<table:content-validation table:condition="of:cell-content-is-in-list(&quot;done&quot;;&quot;no&quot;)"/>'
FORMAT = '<calcext:condition calcext:value="=&quot;done&quot;"/>'
COLUMN = '<table:data-pilot-field table:source-field-name="done"/>'
MEMBER = '<table:data-pilot-member table:name="done"/>'


@pytest.mark.parametrize("by", [FILTER, VALIDATION, FORMAT, COLUMN, MEMBER])
def test_what_is_referred_to_by_its_words_stays(by: str) -> None:
    """Filters, lists of valid values, conditional formats and pivot tables may refer to a text."""
    content = file(table(cell("done"), cell("done it")), behind=by)
    assert texts_of(content) == ["done it"]


def test_formulas_stay_and_are_computed_anew() -> None:
    """Formulas' old results, computed from the old texts, are removed; texts that formulas look for stay."""
    formula = {"formula": "of:=IF([.A1]=&quot;done&quot;;&quot;yes&quot;;[.A2])", "office_value-type": "string"}
    content = file(table(cell("done"), cell("one"), cell("one", **formula)))
    assert texts_of(content) == ["one"]
    assert translated(content) == ["done", "ONE"]
    with ZipFile(BytesIO(with_translation(content, html_of(content)))) as archive:
        (last,) = re.findall(rb"<table:table-cell ([^>]*)/>", archive.read("content.xml"))
    assert last == b'table:formula="of:=IF([.A1]=&quot;done&quot;;&quot;yes&quot;;[.A2])"'


def test_references_to_cells_are_no_texts() -> None:
    """References do not count towards the limit on texts; what looks like one in quotation marks is a text."""
    cells = ";".join(f"[.A{number}]" for number in range(100_001))
    formula = cell(formula=f"of:=SUM({cells};['one'.A1];&quot;[two]&quot;)")
    assert texts_of(file(table(cell("one"), cell("[two]"), cell(".A1"), formula))) == ["one", ".A1"]


def test_no_translation_is_what_a_formula_takes_for_another_text() -> None:
    """Cells that would become equal to another or to what a formula looks for stay; a box may say anything."""
    formula = cell(formula="of:=COUNTIF([.A1:.A9];&quot;DONE&quot;)")
    box = "<draw:frame><draw:text-box><text:p>ready</text:p></draw:text-box></draw:frame>"
    content = file(table(cell("ready"), cell("one"), cell("two"), cell(content=box), formula))
    said = {"ready": "Done", "one": "number", "two": "number"}
    assert translated(content, said.__getitem__) == ["ready", "number", "two", "Done"]


def test_names_of_sheets_stay_where_formulas_make_places_of_them() -> None:
    """INDIRECT, for one, builds references from sheet names in cells."""
    formula = cell(formula="of:=INDIRECT([.A1]&amp;&quot;.A1&quot;)")
    content = file(table(cell("autumn"), cell("spring"), formula, name="Autumn"))
    assert texts_of(content) == ["spring"]


def test_what_nobody_sees_there_stays() -> None:
    """Covered cells, tracked changes, comments, and copies of other files are not visible as text in cells."""
    hidden = "<table:covered-table-cell><text:p>covered</text:p></table:covered-table-cell>"
    changes = f"<table:tracked-changes>{cell('before')}</table:tracked-changes>"
    remark = "<office:annotation><text:p>remark</text:p></office:annotation>"
    copy = table(cell("copied"), name="'file:///a.ods'#one", before="<table:table-source/>")
    content = file(table(cell("one", content=remark), hidden), copy, before=changes)
    assert texts_of(content) == ["one"]


def test_marks_in_cells_stay_with_their_words() -> None:
    """A link in a cell is preserved."""
    content = file(table(cell('see <text:a text:href="x">here</text:a> now')))
    (text,) = texts_of(content)
    assert re.sub(r' id="\d+"', "", text) == "see <a>here</a> now"
    assert b'<text:a text:href="x">here</text:a>' in _content(with_translation(content, html_of(content)))


def _content(content: bytes) -> bytes:
    with ZipFile(BytesIO(content)) as archive:
        return archive.read("content.xml")


def test_another_program_reads_it() -> None:
    """The library odfdo reads the values of all cells."""
    sheet = odfdo.Table("one")
    sheet.append_row(odfdo.Row())
    sheet.set_value("A1", "one")
    sheet.set_value("B1", 2.5)
    sheet.set_value("A2", "three")
    document = odfdo.Document("spreadsheet")
    document.body.clear()
    document.body.append(sheet)
    written = BytesIO()
    document.save(written)
    page = html_of(written.getvalue()).replace("one", "ONE").replace("three", "THREE")
    found = odfdo.Document(BytesIO(with_translation(written.getvalue(), page))).body.get_table(0)
    assert found is not None
    assert [found.get_value(place) for place in ("A1", "B1", "A2")] == ["ONE", 2.5, "THREE"]


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b"])
def test_what_is_no_workbook_is_refused(content: bytes) -> None:
    """The error says what kind of file it is not."""
    with pytest.raises(InvalidInputError, match=r"file: is not a valid \.ods"):
        html_of(content)


def test_many_cells_do_not_take_long() -> None:
    """If the time grew with the square of the number of cells, or of a cell's lines, this would never end."""
    for content in (file(table(*(cell("a b") for _ in range(8_000)))), file(table(cell(*["a b"] * 15_000)))):
        assert texts_of(content) == ["a b"]
        assert len(translated(content)) in (8_000, 15_000)
