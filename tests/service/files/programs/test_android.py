"""Texts of Android programs: which of them are translated, and that all else stays as it is."""

import html
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidInputError
from service.files.programs.android import html_of, with_translation
from tests.support.words import capital, is_no_name

XLIFF: Final = 'xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"'


def resources(body: str) -> str:
    """A file of resources."""
    return f"<?xml version='1.0' encoding=\"utf-8\"?>\n<!-- x -->\n<resources {XLIFF}  >\n{body}\n</resources >\n"


def string(content: str, attributes: str = "") -> str:
    """A file with one text."""
    return resources(f'    <string name="x"{attributes}>{content}</string>')


def capitals(file: str, encoding: str = "utf-8") -> str:
    """A file, "translated": the letters that stand for words are capitals."""
    content = file.encode(encoding)
    page = re.sub(r"(<[^>]*>)|([^<]+)", lambda found: found[1] or capital(found[2]), html_of(content))
    return with_translation(content, page).decode()


def translated(file: str, translation: str) -> str:
    """A file whose only text has another translation."""
    return with_translation(file.encode(), html.escape(translation, quote=False)).decode()


def read(content: str) -> str:
    """What is translated of a text."""
    return re.sub(' id="[0-9a-f]{16}"', "", html.unescape(html_of(string(content).encode())))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x", "X"),
        ("\n   x\n   y\n", "\n   X Y\n"),
        ("x\\n\n   y\\n\\nz", "X\\n\n   Y\\n\\nZ"),
        ("x\\ny", "X\\nY"),
        ("\\u0020x\\u0020", "\\u0020X\\u0020"),
        ("it\\'s x &amp; y &lt; z", "it\\'s X &amp; Y &lt; Z"),
        ('"it\'s  x"', '"it\'s  X"'),
        ('"x \\"y\\" \\\\"', '"X \\"Y\\" \\\\"'),
        ('x "  y" z', "X \\u0020\\u0020Y Z"),
        ("\\@x", "\\@x"),
        ("\\?x y", "\\?X Y"),
        ("<!-- y -->\\?x y", "<!-- y -->\\?X Y"),
        ("x %1$s %d%% y", "X %1$s %d%% Y"),
        ("x <b>y</b>", "X <b>Y</b>"),
        ('<a href="x">x</a> <i>y</i>', '<a href="x">X</a> <i>Y</i>'),
        ("x <!-- y -->\n z", "X <!-- y --> Z"),
        ("<b>it\\'s x</b>\\n\n   y", "<b>it\\'s X</b>\\n\n   Y"),
        ('"<b>x</b>"  y', "<b>X</b> \\u0020Y"),
        ('"x  <xliff:g>y</xliff:g>  it\'s y"', '"X  <xliff:g>y</xliff:g>  it\'s Y"'),
        ('"x <!-- y -->  z"', '"X <!-- y -->  Z"'),
        ('x "y <xliff:g>y</xliff:g>  z"', "X Y <xliff:g>y</xliff:g> \\u0020Z"),
        ('x <xliff:g id="y" example="z">z</xliff:g>', 'X <xliff:g id="y" example="z">z</xliff:g>'),
        ("x <xliff:g>y <xliff:g>z</xliff:g><b/></xliff:g> y", "X <xliff:g>y <xliff:g>z</xliff:g><b/></xliff:g> Y"),
        ("<![CDATA[x & <b>it\\'s y</b>]]>", "<![CDATA[X & <b>it\\'s Y</b>]]>"),
        (" <![CDATA[x]]>\n", " <![CDATA[X]]>\n"),
        ("&lt;b>x&lt;/b> &#12354;&#x3042;", "&lt;b&gt;X&lt;/b&gt; ああ"),
        ("x<br/>y", "X<br/>Y"),
    ],
)
def test_texts_are_translated(before: str, after: str) -> None:
    """With the escapes, the quotation marks, the tags and the line ends that they had."""
    for end in ("\n", "\r\n"):
        assert capitals(string(before).replace("\n", end)) == string(after).replace("\n", end)


def test_lists_and_plurals() -> None:
    """Each of their texts, and nothing of what else there is."""
    before = resources(
        '<string-array name="a"><item>x</item>\n<item >@string/b</item ></string-array>'
        '<plurals name="b"><item quantity="one">x</item><item quantity=\'other\'>%d y</item></plurals>'
        '<color name="x">x</color><item name="x" type="id">x</item><string name="y"/><string name="z"></string>'
    )
    expected = before.replace("<item>x", "<item>X").replace('"one">x', '"one">X').replace("%d y", "%d Y")
    assert capitals(before) == expected


@pytest.mark.parametrize(
    "file",
    [
        string("x", ' translatable="false"'),
        resources('<string-array name="a" translatable="false"><item>x</item></string-array>'),
        f'<resources {XLIFF} translatable="false"><string name="a">x</string></resources>',
        resources('<string-array name="a_values"><item>x</item></string-array>'),
        resources('<string-array name="entryValues"><item>x</item></string-array>'),
        *map(string, ("@string/x", "@android:string/x", "?attr/x", "@null", "@*android:string/x")),
        *map(
            string, ("https://example.org/x", "#ff8800", "%s", "<xliff:g>x</xliff:g>", "<b>%s</b>", " \n ", "com.x.y")
        ),
        resources(""),
        "<resources/>",
    ],
)
def test_what_is_no_text_stays(file: str) -> None:
    """What the file says of it, other resources, and what is for programs."""
    assert capitals(file) == file


@pytest.mark.parametrize(
    ("content", "translation", "after"),
    [
        ("x", "it's", "it\\'s"),
        ('"x"', "it's", '"it\'s"'),
        ("x", '"a" \\ <b', '\\"a\\" \\\\ &lt;b'),
        ("x", "@a", "\\@a"),
        ("x", "?", "\\?"),
        ("x", "a\tb", "a\\tb"),
        ("<![CDATA[x]]>", "a]]>b & 'c'", "<![CDATA[a]]]]><![CDATA[>b & \\'c\\']]>"),
        ("x", "a\x00b", "ab"),
    ],
)
def test_a_translation_is_escaped(content: str, translation: str, after: str) -> None:
    """As the text that it replaces, in the way that Android reads."""
    assert translated(string(content), translation) == string(after)


def test_tags_stay_whatever_becomes_of_the_words() -> None:
    """Each once, and in order."""
    content = string("<b>x</b> <i>y</i> <xliff:g>z</xliff:g>").encode()
    page = html_of(content)
    assert page == '<a id="0">x</a> <a id="1">y</a> <code id="2"></code>'
    for translation, expected in (
        ('<a id="1">Y</a> <a id="0">X</a>', "<i>Y</i> <b>X</b><xliff:g>z</xliff:g>"),
        ('<a id="0">X <code id="2"></code>', "<b>X <xliff:g>z</xliff:g></b><i></i>"),
        ('</a><a id="0">X</a><a id="0">Y</a></a>', "<b>X</b>Y<i></i><xliff:g>z</xliff:g>"),
    ):
        assert with_translation(content, translation).decode() == string(expected)


def test_encodings() -> None:
    """A byte order mark stays; what was in another encoding is in UTF-8, and says so."""
    assert capitals(string("x"), "utf-8-sig") == f"\ufeff{string('X')}"
    declared = string("x").replace("utf-8", "utf-16")
    assert capitals(declared, "utf-16") == string("X")


NOT_A_CHARACTER = "file: the text that begins in line 4 has \\u without the number of a character after it"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<project/>", "file: of .xml, only Android's <resources> are translated, not <project>"),
        ("<resources>", "file: is not valid XML: no element found, line 1, column 12"),
        ("", "file: is not valid XML: no element found, line 1, column 1"),
        ("<resources>\n<string>&x;</string></resources>", "file: is not valid XML: undefined entity, line 2, column 9"),
        ('<!DOCTYPE resources [<!ENTITY x "y">]><resources/>', "file: has declarations of its own"),
        ('<!DOCTYPE resources SYSTEM "file:///etc/passwd"><resources/>', "file: has declarations of its own"),
        (string("x \\u12"), NOT_A_CHARACTER),
        (string("x \\ud83d"), NOT_A_CHARACTER),
        ("<a>" * 500_001, "file: has more than 500000 tags"),
        (resources("<string>x</string>" * 100_001), "file: has more than 100000 texts"),
    ],
)
def test_what_is_none_of_androids_is_refused(content: str, reason: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(InvalidInputError) as error:
        html_of(content.encode())
    assert str(error.value) == reason


@pytest.mark.parametrize(
    "run",
    [
        "\\",
        "\\n",
        "\\n\n ",
        " ",
        "\n",
        "'",
        "&amp;",
        '"',
        "x ",
        "<b>",
        "<b/>",
        "<xliff:g>",
        "<!---->",
        "]]&gt;",
        "<![CDATA[]]>",
        "@",
    ],
)
def test_nothing_takes_long(run: str) -> None:
    """Of the same, 300,000 characters: a time that grew with their square would never end here."""
    name = run[1:-1] if run in {"<b>", "<xliff:g>"} else ""
    times = 300_000 // len(run)
    file = string(f"x {run * times} y{f'</{name}>' * times if name else ''}")
    assert "X" in capitals(file)


def test_attributes_do_not_take_long() -> None:
    """Nor elements within one another."""
    many = " ".join(f'a{number}="x>"' for number in range(50_000))
    assert capitals(string("x", f" {many}")) == string("X", f" {many}")
    assert capitals(resources("<b>" * 100_000 + "</b>" * 100_000)).count("<b>") == 100_000


@pytest.mark.skipif(shutil.which("aapt2") is None, reason="needs Android's aapt2")
def test_android_reads_what_is_written(tmp_path: Path) -> None:
    """Every text, as its own compiler does, and as it read it before."""
    contents = [
        *(
            "it\\'s x",
            '"it\'s  x \\" y"',
            "\n  x\n  y\n",
            "x\\n\n   y\\n\\nz",
            "\\u0020x\\u3042\\uD83D\\uDE00 ",
            "\\@x y",
        ),
        *("<b>x</b>  <i> it\\'s y</i>", "x <xliff:g>y</xliff:g> z", "<![CDATA[<b>x</b> & it\\'s y]]>", "x &lt; y\\\\n"),
        *('x "  y" z', '"<b>x</b>"  y', "x\\ty\\q %1$d%%"),
        *("\"x  <xliff:g>y's</xliff:g>  it's y\"", 'x "y <xliff:g>%s</xliff:g>  z"', '"x <!-- y -->  it\'s z"'),
    ]
    file = "".join(f'<string name="a{number}">{content}</string>' for number, content in enumerate(contents))
    dumped = [
        _compiled(tmp_path / name, text) for name, text in (("a", resources(file)), ("b", capitals(resources(file))))
    ]
    assert len(dumped[0]) == len(contents)
    assert [each.lower() for each in dumped[0]] == [each.lower() for each in dumped[1]]


def _compiled(folder: Path, file: str) -> list[str]:
    values = folder / "res" / "values"
    values.mkdir(parents=True)
    (values / "strings.xml").write_text(file, encoding="utf-8", newline="")
    name = 'xmlns:android="http://schemas.android.com/apk/res/android" package="a.b"'
    (folder / "manifest.xml").write_text(f"<manifest {name}><application/></manifest>", encoding="utf-8")
    commands = ["compile --dir res -o all.zip", "link -o a.apk --manifest manifest.xml all.zip", "dump resources a.apk"]
    for command in commands:
        done = subprocess.run(["aapt2", *command.split()], cwd=folder, capture_output=True, text=True, check=True)
    return re.split(r"\n +resource 0x", done.stdout)[1:]


_TEXTS = st.text(st.sampled_from("xy \\\n\t'\"@?あ😀<&>]"), max_size=8).filter(is_no_name)


@given(st.lists(st.tuples(_TEXTS, st.sampled_from(["{}", '"{}"', "<![CDATA[{}]]>"])), max_size=4))
def test_any_text_is_written_as_it_is_read(texts: list[tuple[str, str]]) -> None:
    """Whatever it says, it is the same again."""

    def escaped(text: str, form: str) -> str:
        said = re.sub(r"[\\'\"@? ]", lambda found: f"\\u{ord(found[0]):04x}", text).replace("\n", "\\n")
        return form.format(said.replace("]", "\\u005d") if "CDATA" in form else html.escape(said, quote=False))

    def said(file: str) -> list[str]:
        return re.sub(r' id="[0-9a-f]{16}"', "", html_of(file.encode())).split("<hr/>")

    file = resources("".join(f"<string>{escaped(*text)}</string>" for text in texts))
    once = capitals(file)
    assert capitals(once) == once
    assert said(once) == [re.sub("(<[^>]*>)|([^<]+)", lambda at: at[1] or capital(at[2]), each) for each in said(file)]
