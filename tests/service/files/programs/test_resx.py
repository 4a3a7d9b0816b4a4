"""Texts of .NET programs: which of them are translated, and that all else stays as it is."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from service.errors import InvalidInputError
from service.files.programs.resx import html_of, with_translation
from tests.support.words import capital

HEAD = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <!-- x -->
  <xsd:schema id="root" xmlns="" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="x" /></xsd:schema>
  <resheader name="version"><value>x</value></resheader>
  <assembly alias="x" name="x" />
  <metadata name="$this.x"><value>x</value></metadata>
"""


READ_ALOUD = ("a.[using:Windows.UI.Xaml.Automation]AutomationProperties.Name", "a.AutomationProperties.Name")


def resx(*values: str, attributes: str = 'name="a" xml:space="preserve"') -> str:
    """A file with some values, as programs write them."""
    data = "".join(
        f"  <data {attributes}>\n    <value>{value}</value>\n    <comment>x</comment>\n  </data>\n" for value in values
    )
    return f"{HEAD}{data}</root>"


def capitals(file: str, encoding: str = "utf-8") -> str:
    """A file, "translated": the letters that stand for words are capitals."""
    content = file.encode(encoding)
    return with_translation(content, capital(html_of(content))).decode(encoding)


def translated(file: str, translation: str) -> str:
    """A file whose only text has another translation."""
    return with_translation(file.encode(), html.escape(translation, quote=False)).decode()


def values(file: str) -> list[str]:
    """What another reader finds in a file."""
    return [each.text or "" for each in etree.fromstring(file.encode()).iterfind("data/value")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x", "X"),
        ("  x\n", "  X\n"),
        ("x\n  y", "X\n  Y"),
        ("x {0} {1:N2} {{v}}", "X {0} {1:N2} {{v}}"),
        ("x &amp;amp; y &lt;b&gt;z&lt;/b&gt;", "X &amp;amp; Y &lt;b&gt;Z&lt;/b&gt;"),
        ("\"x\" 'y' &#12354;", "\"X\" 'Y' あ"),
        ("x&#13;\ny", "X&#13;\nY"),
        ("<![CDATA[x & <b>y</b>]]>", "<![CDATA[X & <b>Y</b>]]>"),
        ("\n<![CDATA[x]]>\n", "\n<![CDATA[X]]>\n"),
    ],
)
def test_values_are_translated(before: str, after: str, end: str) -> None:
    """With the white space around them; and nothing else, neither comments nor what is about the file."""
    assert capitals(resx(before).replace("\n", end)) == resx(after).replace("\n", end)


@pytest.mark.parametrize(
    "attributes",
    [
        'name="a" type="System.Drawing.Size, System.Drawing"',
        'name="a" mimetype="application/x-microsoft.net.object.bytearray.base64"',
        'name="&gt;&gt;button1.Name" xml:space="preserve"',
        *(f'name="button1.{name}"' for name in ("Size", "Location", "Font", "ImeMode", "Name")),
        *(f'name="button1.{name}"' for name in ("FlowDirection", "AccessKey", "[using:a.b]Grid.Name")),
    ],
)
def test_what_is_no_text_stays(attributes: str) -> None:
    """What is no string, and what Windows Forms keeps beside the texts."""
    file = resx("x", attributes=attributes)
    assert capitals(file) == file
    for name in ("button1.Text", "$this.Text", "Size", "label.ToolTip", "grid.HeaderText", *READ_ALOUD):
        assert capitals(resx("x", attributes=f'name="{name}"')) == resx("X", attributes=f'name="{name}"')


def test_values_that_are_not_sentences_stay() -> None:
    """As in JSON; and what has elements, or nothing."""
    file = resx("", " ", "1.2.3", "https://example.org/x", "#ff8800", "com.x.y", "{0}", "x<b>x</b>", "<!-- x -->")
    file = file.replace("</root>", '<data name="b"><value/></data><data name="x" /></root>')
    assert capitals(file) == file


@pytest.mark.parametrize(
    ("value", "read_as", "translation", "after"),
    [
        ("&amp;File", "File", "Datei", "&amp;Datei"),
        ("&amp;Open...", "Open...", "開く...", "開く(&amp;O)..."),
        ("ファイル(&amp;F)", "ファイル", "File", "&amp;File"),
        ("_File", "File", "ファイル", "ファイル(_F)"),
    ],
)
def test_keys_of_menus_are_marked_again(value: str, read_as: str, translation: str, after: str) -> None:
    """As in gettext's files."""
    assert html_of(resx(value).encode()) == read_as
    assert translated(resx(value), translation) == resx(after)


@pytest.mark.parametrize(
    ("value", "translation", "after"),
    [
        ("x", "a < b & 'c' \"d\"", "a &lt; b &amp; 'c' \"d\""),
        ("<![CDATA[x]]>", "a]]>b & c", "<![CDATA[a]]]]><![CDATA[>b & c]]>"),
        ("x", "a\x00b", "ab"),
    ],
)
def test_a_translation_is_escaped(value: str, translation: str, after: str) -> None:
    """As XML has it."""
    assert translated(resx(value), translation) == resx(after)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<resources/>", "file: is not a valid .resx or .resw: it begins with <resources>, not <root>"),
        ("<root>", "file: is not valid XML: no element found, line 1, column 7"),
        ('<!DOCTYPE root [<!ENTITY x "y">]><root/>', "file: has declarations of its own"),
        (resx(*["x"] * 100_001), "file: has more than 100000 texts"),
    ],
)
def test_what_is_no_resx_is_refused(content: str, reason: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(InvalidInputError) as error:
        html_of(content.replace("    <comment>x</comment>\n", "").encode())
    assert str(error.value) == reason


@pytest.mark.parametrize("run", ["&amp;", " ", "\n", "x ", "{0", "]]&gt;", "&#13;"])
def test_nothing_takes_long(run: str) -> None:
    """Of the same, 300,000 characters: a time that grew with their square would never end here."""
    assert "X" in capitals(resx(f"x{run * (300_000 // len(run))}y"))


def test_zeros_before_the_number_of_a_character() -> None:
    """However many there are."""
    assert html_of(resx(f"x&#{'0' * 5000}97;y").encode()) == "xay"


_TEXTS = st.lists(st.sampled_from([*"xz \n\t\r'\"あ😀>]", "& ", "< "]), max_size=8).map("".join)


@given(st.lists(st.tuples(_TEXTS, st.booleans()), max_size=4))
def test_others_read_what_is_written(texts: list[tuple[str, bool]]) -> None:
    """Whatever a value says, and however it is written."""
    written = [
        f"<![CDATA[{text.replace(chr(13), '').replace(']', '')}]]>"
        if as_cdata
        else html.escape(text, quote=False).replace("\r", "&#xD;")
        for text, as_cdata in texts
    ]
    file = resx(*written)
    once = capitals(file)
    assert capitals(once) == once
    assert values(once) == list(map(capital, values(file)))
