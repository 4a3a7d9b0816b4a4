"""Texts of Java programs: which of them are translated, and that all else stays as it is."""

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
from service.files.programs.properties import html_of, with_translation
from tests.support.words import capital, is_no_name


def capitals(file: str, encoding: str = "utf-8") -> str:
    """A file, "translated": the letters that stand for words are capitals."""
    content = file.encode(encoding)
    return with_translation(content, capital(html_of(content))).decode(encoding)


def translated(file: str, translation: str, encoding: str = "utf-8") -> str:
    """A file whose only text has another translation."""
    said = with_translation(file.encode(encoding), html.escape(translation, quote=False))
    return said.decode(encoding)


def texts(file: str) -> list[str]:
    """What is translated of a file."""
    return re.sub(r' id="[0-9a-f]{16}"', "", html_of(file.encode())).split("<hr/>")


def read(file: str) -> str:
    """What is translated of a file that has one text."""
    return html.unescape(html_of(file.encode()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a=x", "a=X"),
        ("# x\n! y = z\n\na = x\nb: y\nc z\n", "# x\n! y = z\n\na = X\nb: Y\nc Z\n"),
        ("\t a.b\\ c\\:d = x y  \n", "\t a.b\\ c\\:d = X Y  \n"),
        ("a = \\\n    x \\\n    y\n# x \\\nb = z", "a = \\\n    X Y\n# x \\\nb = Z"),
        ("a = x \\\n\nb = y \\\n# z\n", "a = X \nb = Y # Z\n"),
        ("a = x\\n\\\n    y\\n\\\n    z\n", "a = X\\n\\\n    Y\\n\\\n    Z\n"),
        ("a = x\\n\\\n    \\ y\n", "a = X\\n\\\n    \\ Y\n"),
        ("a = \\ x\\ty\\\\ \\q\\:\\\nb=y", "a = \\ X\\tY\\\\ q:b=Y"),
        ("a\\\n  b = x\nc\\=x = y", "a\\\n  b = X\nc\\=x = Y"),
        ("a = x = y : z", "a = X = Y : Z"),
        ("a \\:x", "a \\:X"),
        ("a = x {0} {1,number,#.##} ${v} %s", "a = X {0} {1,number,#.##} ${v} %s"),
        ("a = <b>x</b> &amp; y", "a = <b>X</b> &amp; Y"),
        ("a = x|y", "a = X|Y"),
        ("a = x\\", "a = X\\"),
    ],
)
def test_values_are_translated(before: str, after: str) -> None:
    """However a name and its value are apart, and on however many lines; comments and names stay."""
    assert capitals(before) == after
    before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
    assert capitals(before) == after


@pytest.mark.parametrize(
    "file",
    [
        "# x\n!y\n",
        "a\nb=\nc = 12 \\\n 3\n",
        "a = com.example.X\nb = https://example.org/x\nc = #fffaaa\nd = true\n",
        "menu.file.mnemonic = x\nmenu.file.Accelerator = ctrl x\nkeyStroke=x\n",
        "a = {0}\n",
        "",
    ],
)
def test_what_is_no_text_stays(file: str) -> None:
    """As it does in JSON, with the keys that Swing has for menus."""
    assert capitals(file) == file


@pytest.mark.parametrize(
    ("before", "encoding", "translation", "after"),
    [
        ("a=x", "utf-8", "é 😀\u3042", "a=\\u00e9 \\ud83d\\ude00\\u3042"),
        ("# é\na=x", "utf-8", "あ", "# é\na=\\u3042"),
        ("a=\\u3042\\uD83D\\uDE00 x", "utf-8", "\u3044", "a=\\u3044"),
        ("a=\u3042", "utf-8", "é\u2026", "a=é\u2026"),
        ("a=\u3042", "utf-8-sig", "é", "a=é"),
        ("# é\na=à x", "iso-8859-1", "ü\u3042", "# é\na=\\u00fc\\u3042"),
    ],
)
def test_letters_are_written_as_the_file_has_them(before: str, encoding: str, translation: str, after: str) -> None:
    """Escaped where a file has no others in its texts, which is what every Java reads."""
    assert translated(before, translation, encoding) == after


def test_escaped_letters_are_read() -> None:
    """Also those of two units."""
    assert read("a=\\u3042\\uD83D\\uDE00 \\u0078") == "\u3042😀 x"


@pytest.mark.parametrize(
    ("value", "words", "translation", "after"),
    [
        ("''{0}'' isn''t x", "'{0}' isn't x", "ce n'est '{0}'", "ce n''est ''{0}''"),
        ("{0} x", "{0} x", "n'est {0}", "n''est {0}"),
        ("x", "x", "n'est", "n'est"),
        ("isn''t", "isn't", "n'est", "n''est"),
        ("'{'x'}' isn''t {0}", "{x} isn't {0}", "n'est {x} {0} '", "n''est '{'x'}' {0} ''"),
        ("'{x}' y {0,time,h 'x'}", "{x} y {0,time,h 'x'}", "n'est {x} {0,time,h 'x'}", "n''est '{'x'}' {0,time,h 'x'}"),
        ("isn''t '{' {0}", "isn't { {0}", "n'est '{' {0}", "n''est '''{''' {0}"),
        ("'x' isn''t {0}", "'x' isn''t {0}", "n'est 'x' {0}", "n''est 'x' {0}"),
        (
            "x '{0}' {0,date,d'x'M}",
            "x '{0}' {0,date,d'x'M}",
            "n'est '{0}' {0,date,d'x'M}",
            "n''est '{0}' {0,date,d'x'M}",
        ),
        ("x '{'0'}' {1}", "x '{'0'}' {1}", "n'est '{'0'}' {1}", "n''est '{'0'}' {1}"),
        ("{0} isn't x", "{0} isn't x", "n'est {0}", "n'est {0}"),
    ],
)
def test_apostrophes_beside_arguments(value: str, words: str, translation: str, after: str) -> None:
    """MessageFormat has them twice; a file in which they are not is for another reader."""
    assert read(f"a={value}") == words
    assert translated(f"a={value}", translation) == f"a={after}"


def test_apostrophes_of_a_file() -> None:
    """Another text says that it is not MessageFormat that reads them."""
    content = b"a=isn't {0}\nb={1} x"
    said = html_of(content).replace("x", "n'est")
    assert with_translation(content, said) == b"a=isn't {0}\nb={1} n'est"


@pytest.mark.parametrize(
    ("value", "is_html"),
    [
        ('<html><b>x<br><font size="-2">y</b><p>z', True),
        ("<HTML><style>p { x }</style><p>x<code>x</code>", True),
        ("<html>x</html>", True),
        ("<html>x <code>y", False),
        ("<html></pre>x <pre>y", False),
        ("<html>x <b", False),
        ("<html><style>x", False),
        ('<font size="-2">x', False),
    ],
)
def test_labels_of_swing_are_html(value: str, is_html: bool) -> None:
    """Although hardly anybody closes their tags; but none goes on in the next text."""
    assert (read(f"a={value}") == html_of(f"a={value}".encode())) is is_html
    assert texts(f"a={value}\nb=x")[1:] == ["x"]


def test_choices_are_no_parts() -> None:
    """A sentence stays one whatever number is in it."""
    value = "x {0,choice,0#none|1#one|1<{0,number,integer} files} y"
    assert re.sub(r'<code id="[0-9a-f]{16}">(.*)</code>', r"\1", read(f"a={value}")) == value
    assert capitals(f"a={value}") == f"a={capital(value)}"


@pytest.mark.parametrize(
    ("source", "read_as", "translation", "expected"),
    [("&File", "File", "Datei", "&Datei"), ("&File...", "File...", "\u3042...", "\\u3042(&F)...")],
)
def test_keys_of_menus_are_marked_again(source: str, read_as: str, translation: str, expected: str) -> None:
    """As in gettext's files."""
    assert read(f"a={source}") == read_as
    assert translated(f"a={source}", translation) == f"a={expected}"


@pytest.mark.parametrize("first", [" ", "=", ":"])
def test_no_translation_begins_with_a_separator(first: str) -> None:
    """It would be a part of what is before it."""
    assert translated("a x", f"{first}y") == f"a \\{first}y"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a=x\nb=\\u12", "file: the entry in line 2 has \\u without the number of a character after it"),
        (b"a=C:\\users", "file: the entry in line 1 has \\u without the number of a character after it"),
        (b"\na=x\\ud83d", "file: the entry in line 2 has \\u without the number of a character after it"),
        (b"a=\x82\xa0", "file: is not in UTF-8: byte 2; nor is it in ISO-8859-1"),
        ("a=あいう".encode("euc-jp"), "file: is not in UTF-8: byte 2; nor is it in ISO-8859-1"),
        (b'a=\x1b$B$"\x1b(B', "file: is not in UTF-8, but in ISO-2022; nor is it in ISO-8859-1"),
    ],
)
def test_what_java_would_not_read_is_refused(content: bytes, reason: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(InvalidInputError) as error:
        html_of(content)
    assert str(error.value) == reason


def test_many_texts_are_refused() -> None:
    """Before anybody waits for them."""
    with pytest.raises(InvalidInputError, match="file: has more than 100000 texts"):
        html_of(b"a=x\n" * 100_001)


@pytest.mark.parametrize(
    ("begin", "run", "end"),
    [
        *(
            ("a=x", run, "y")
            for run in ("\\", "\\\\", "\\\n", "\\\n ", " ", "'", "\\n\\\n", "x ", "{0", "|", "\\u3042")
        ),
        *(("", run, "a=x") for run in ("\n", "\\\n", " ", "#\n", "\\ ", "b", "a=y\n", "b\n")),
        ("a", " ", "=x"),
        ("a", "\\\n ", "=x"),
    ],
)
def test_nothing_takes_long(begin: str, run: str, end: str) -> None:
    """Of the same, 300,000 characters: a time that grew with their square would never end here."""
    file = begin + run * (300_000 // len(run) if run not in {"a=y\n", "b\n"} else 50_000) + end
    assert len(capitals(file)) > 90_000


JAVA: Final = r"""
import java.io.*; import java.util.*; import java.nio.charset.*;
public class Load { public static void main(String[] files) throws Exception {
  PrintStream out = new PrintStream(System.out, true, "UTF-8");
  for (String file : files) { Properties read = new Properties();
    read.load(new InputStreamReader(new FileInputStream(file), StandardCharsets.UTF_8));
    for (String name : new TreeSet<>(read.stringPropertyNames()))
      for (char unit : (name + "=" + read.getProperty(name) + ";").toCharArray())
        out.print((int) unit + " "); } } }
"""


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
def test_java_reads_what_is_written(tmp_path: Path) -> None:
    """Every value, as its own reader does, and as it read them before."""
    files = [
        "a = \\\n  \\ x\\n\\\n   y\\tz\\u3042 \nb:\\=x\\:\\#\\\\\n c\\ d x\\\r\n\t''{0}''\n",
        "a = あ \\\n\\\n  x 😀\nb \\\n= y\\f\\r\\n z",
    ]
    (tmp_path / "Load.java").write_text(JAVA, encoding="utf-8")
    for number, file in enumerate(files):
        (tmp_path / f"{number}.before").write_text(file, encoding="utf-8", newline="")
        (tmp_path / f"{number}.after").write_text(capitals(file), encoding="utf-8", newline="")
    names = [tmp_path / f"{number}.{when}" for when in ("before", "after") for number in range(len(files))]
    done = subprocess.run(["java", tmp_path / "Load.java", *names], capture_output=True, text=True, check=True)
    units = b"".join(int(unit).to_bytes(2, "big") for unit in done.stdout.split()).decode("utf-16-be")
    before, after = units[: len(units) // 2], units[len(units) // 2 :]
    assert "a= x\ny\tz\u3042 ;" in before
    assert after == capital(before)


_VALUES = st.text(st.sampled_from("xy \\\n\t\r=:#!'{}あ😀é<&"), max_size=8).filter(is_no_name)


@given(st.lists(_VALUES, max_size=4), st.booleans())
def test_any_value_is_written_as_it_is_read(values: list[str], as_numbers: bool) -> None:
    """Whatever it says, it is the same again."""

    def escaped(value: str) -> str:
        said = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace(" ", "\\ ")
        units = memoryview(said.encode("utf-16")[2:]).cast("H")
        return "".join(f"\\u{unit:04x}" if unit > 126 else chr(unit) for unit in units) if as_numbers else said

    file = "".join(f"k{number} = {escaped(value)}\n" for number, value in enumerate(values))
    once = capitals(file)
    assert capitals(once) == once
    assert texts(once) == list(map(capital, texts(file)))
