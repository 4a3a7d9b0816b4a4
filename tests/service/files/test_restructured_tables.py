"""Tables of reStructuredText: their cells are translated, and the lines around them drawn anew."""

import html

import pytest

from service.files.restructured.files import html_of, with_translation

GRID = """\
A:

  +--------+------------+
  | Sign   | Meaning    |
  +========+============+
  | ``a``  | The first  |
  |        | letter     |
  +--------+------------+
  | 京都   | - item     |
  |        |            |
  |        |   - two    |
  +--------+------------+
"""
GRID_TRANSLATED = """\
A:

  +---------+------------------+
  | SIGN 寺 | MEANING          |
  +=========+==================+
  | ``a``   | THE FIRST LETTER |
  +---------+------------------+
  | 京都    | - item           |
  |         |                  |
  |         |   - two          |
  +---------+------------------+
"""
SIMPLE = """\
======  ==========  ====
Name    What it is  Note
======  ==========  ====
Gate    Made of
        wood        x
京都    City

Bell    Of bronze   very loud

        It rings
======  ==========  ====
"""
SIMPLE_TRANSLATED = """\
=======  ============  =========
NAME     WHAT IT IS    NOTE
=======  ============  =========
GATE     MADE OF WOOD  X
京都     CITY
BELL 寺  Of bronze     very loud

         It rings
=======  ============  =========
"""
SPANS = """\
+---+---+
| a span|
+---+---+
"""
SPANS_OF_ROWS = """\
+---+---+
| a | b |
|   +---+
|   | c |
+---+---+
"""
MORE_COLUMNS = """\
+-----+
| one |
+--+--+
|a |b |
+--+--+
"""
SPANS_OF_COLUMNS = """\
===  ===
a span
--------
a    b
===  ===
"""
BESIDE_ITS_COLUMN = """\
===  ===
a too wide
===  ===
"""
WITHOUT_A_FIRST_CELL = """\
===  ===
     a
===  ===
"""


def translated(page: str, others: dict[str, str]) -> str:
    """A page in which some texts are other ones, and the rest are in capitals."""
    text = html_of(page.encode())
    texts = [html.unescape(each) for each in text.removeprefix("<p>").removesuffix("</p>").split("</p><p>")]
    said = (html.escape(others.get(each, each.upper())) for each in texts)
    return with_translation(page.encode(), "".join(f"<p>{each}</p>" for each in said)).decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_cells_of_a_grid_are_translated(end: str) -> None:
    """Each text on one line; columns are as wide as they need to be, and what is no paragraph stays as it is."""
    others = {"A:": "A:", "Sign": "SIGN 寺"}
    assert translated(GRID.replace("\n", end), others) == GRID_TRANSLATED.replace("\n", end)


def test_cells_between_blanks_are_translated() -> None:
    """Without lines between columns, a row begins where the first column has a text."""
    assert translated(SIMPLE, {"Bell": "BELL 寺", "very loud": "very loud"}) == SIMPLE_TRANSLATED


@pytest.mark.parametrize("page", [GRID, SIMPLE])
def test_a_table_whose_texts_stay_is_as_it_was(page: str) -> None:
    """Line for line."""
    assert with_translation(page.encode(), html_of(page.encode())).decode() == page


@pytest.mark.parametrize(
    "page", [SPANS, SPANS_OF_ROWS, MORE_COLUMNS, SPANS_OF_COLUMNS, BESIDE_ITS_COLUMN, WITHOUT_A_FIRST_CELL]
)
def test_a_table_that_is_not_read_stays(page: str) -> None:
    """Cells that span columns or rows cannot be drawn anew, nor those that are in no column."""
    assert html_of(page.encode()) == ""


def test_a_cell_without_a_translation_keeps_its_text() -> None:
    """An empty first cell would make its row a part of the row above."""
    page = "===  ===\none  two\n===  ===\n"
    assert translated(page, {"one": "", "two": "deux"}) == "===  ====\none  deux\n===  ====\n"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("+-----+---+\n| one | b |\n+-----+---+\n", "+-----+---+\n| {} | B |\n+-----+---+\n"),
        ("===  ===\none  b\n===  ===\n", "===  ===\n{}  B\n===  ===\n"),
    ],
)
def test_accents_take_no_column(page: str, expected: str) -> None:
    """Docutils counts so: with another width it would find no table."""
    accented = "e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT}"
    assert translated(page, {"one": accented}) == expected.format(accented)


def test_tabs_are_spaces() -> None:
    """Up to the next column that is a multiple of eight, as they are to docutils."""
    page = "\t======  ===\n\tone\ttwo\n\t======  ===\n"
    assert translated(page, {}) == "        ======  ===\n        ONE     TWO\n        ======  ===\n"


def test_a_table_does_not_become_much_larger() -> None:
    """A text of many lines would make every other line as long: such a table stays as it is."""
    rows = "".join(f"| a{number:4} |\n+-------+\n" for number in range(100))
    page = f"+-------+\n{rows}" + "| words |\n" * 2000 + "+-------+\n"
    assert html_of(page.encode()) == ""
    assert html_of(f"+-------+\n{rows}".encode()).count("<p>") == 100


@pytest.mark.parametrize("rule", ["= " * 40_000, "+-" * 40_000 + "+"])
def test_many_columns_do_not_take_long(rule: str) -> None:
    """Every line would be looked at once for each of them."""
    page = f"{rule}\n" + "a\n" * 40_000 + f"{rule}\n"
    assert with_translation(page.encode(), html_of(page.encode())).decode() == page
