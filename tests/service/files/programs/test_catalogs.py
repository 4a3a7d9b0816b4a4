"""Messages in gettext catalogs: which are translated; everything else stays as it is."""

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidInputError
from service.files.programs.catalogs import html_of, with_translation
from tests.support.words import capital, is_no_name

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
ONE_FORM, THREE_FORMS = (f'{HEADER}"Plural-Forms: nplurals={n}; plural=0;\\n"\n' for n in (1, 3))


def capitals(file: str) -> str:
    """Pretend to translate a file, by capitalizing the letters that stand for words."""
    content = file.encode()
    return with_translation(content, capital(html_of(content))).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('msgid "x"\nmsgstr ""\n', '#, fuzzy\nmsgid "x"\nmsgstr "X"\n'),
        ('#: a.c\nmsgctxt "y"\nmsgid "x"\nmsgstr ""\n', '#: a.c\n#, fuzzy\nmsgctxt "y"\nmsgid "x"\nmsgstr "X"\n'),
        ('#, c-format\nmsgid "x %s"\nmsgstr ""', '#, fuzzy, c-format\nmsgid "x %s"\nmsgstr "X %s"\n'),
        ('msgid ""\n"x "\n"y"\nmsgstr ""\n', '#, fuzzy\nmsgid ""\n"x "\n"y"\nmsgstr "X Y"\n'),
        ('msgid "\\n x\\n"\nmsgstr ""\n', '#, fuzzy\nmsgid "\\n x\\n"\nmsgstr ""\n"\\n"\n" X\\n"\n'),
        ('msgid "x\\ny"\nmsgstr ""\n""\n', '#, fuzzy\nmsgid "x\\ny"\nmsgstr ""\n"X\\n"\n"Y"\n'),
        ('msgid "x \\"\\ty\\" \\\\"\nmsgstr ""\n', '#, fuzzy\nmsgid "x \\"\\ty\\" \\\\"\nmsgstr "X \\"\\tY\\" \\\\"\n'),
        ('msgid "x \\343\\201\\x82"\nmsgstr ""\n', '#, fuzzy\nmsgid "x \\343\\201\\x82"\nmsgstr "X あ"\n'),
        ('msgid "\\33[1mx"\nmsgstr ""\n', '#, fuzzy\nmsgid "\\33[1mx"\nmsgstr "\\033[1mx"\n'),
        ('msgid "x \\202"\nmsgstr ""\n', '#, fuzzy\nmsgid "x \\202"\nmsgstr "X \\\\202"\n'),
        ('msgid "x \\\\101"\nmsgstr ""\n', '#, fuzzy\nmsgid "x \\\\101"\nmsgstr "X \\\\101"\n'),
        (
            'msgid "x"\nmsgstr ""\nmsgid "y"\nmsgstr ""\n',
            '#, fuzzy\nmsgid "x"\nmsgstr "X"\n#, fuzzy\nmsgid "y"\nmsgstr "Y"\n',
        ),
        ('msgid "x &amp; <b>y</b>"\nmsgstr ""\n', '#, fuzzy\nmsgid "x &amp; <b>y</b>"\nmsgstr "X &amp; <b>Y</b>"\n'),
    ],
)
def test_messages_are_translated(before: str, after: str) -> None:
    """Translated messages are marked as fuzzy, since somebody has to review them."""
    assert capitals(HEADER + before) == HEADER + after
    assert capitals(before) == after
    before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
    assert capitals(before) == after


@pytest.mark.parametrize(
    ("source", "read", "translation", "expected"),
    [
        ("&File", "File", "Datei", "&Datei"),
        ("Save _As...", "Save As...", "「別名」で保存...", "「別名」で保存(_A)..."),
        ("E&xit", "Exit", "Выход", "&Выход"),
        ("ファイルを開く(&O)…", "ファイルを開く…", "Open file…", "&Open file…"),
        ("&File", "File", "A & B", "A & B"),
        *((text, text, "あ", "あ") for text in ("R&D", "A & B", "a_b", "the __name", "&File &Edit", "&Del %s")),
        ("x &lt; y", "x < y", "あ", "あ"),
        ("_" + "a b" * 20, "_" + "a b" * 20, "あ", "あ"),
    ],
)
def test_keys_of_menus_are_marked_again(source: str, read: str, translation: str, expected: str) -> None:
    """An access key goes before a letter, or after the text if that has no letter to type; other signs are no keys."""
    content = f'msgid "{source}"\nmsgstr ""\n'.encode()
    assert html.unescape(html_of(content)) == read
    said = with_translation(content, html.escape(translation, quote=False)).decode()
    assert f'msgstr "{expected}"' in said


@pytest.mark.parametrize(
    "entry",
    [
        'msgid "x"\nmsgstr "v"\n',
        '#, fuzzy\nmsgid "x"\nmsgstr "v"\n',
        '#| msgid "y"\nmsgid "x"\nmsgstr "v"\n',
        'msgid "x"\nmsgid_plural "y"\nmsgstr[0] "v"\nmsgstr[1] "w"\n',
        '#~ msgid "x"\n#~ msgstr ""\n',
        'msgid " \\n"\nmsgstr ""\n',
        "# x\n#. y\n\n",
        "",
    ],
)
def test_what_is_translated_already_stays(entry: str) -> None:
    """A translated message stays, whoever translated it and whatever comments or flags it has."""
    assert capitals(HEADER + entry) == HEADER + entry


def test_what_is_translated_already_is_read() -> None:
    """It serves as context for what follows."""
    assert html_of(b'msgid "x"\nmsgstr "v"\nmsgid "y"\nmsgstr ""\n').startswith("x<hr ")


def test_what_is_said_of_an_unused_message_is_said_of_no_other_one() -> None:
    """The fuzzy flag of an obsolete message does not apply to the next one."""
    unused = '#, fuzzy\n#~ msgid "x"\n#~ msgstr "v"\n\n'
    assert capitals(f'{unused}msgid "x"\nmsgstr ""\n') == f'{unused}#, fuzzy\nmsgid "x"\nmsgstr "X"\n'


def test_a_guess_is_replaced() -> None:
    """`msgmerge` may have filled in a similar message's translation; it is replaced, and its `#|` lines go."""
    before = '#, fuzzy, c-format\n#| msgctxt "w"\n#| msgid "w"\nmsgctxt "w"\nmsgid "x"\nmsgstr ""\n"v"\n"w"\n'
    assert capitals(before) == '#, fuzzy, c-format\nmsgctxt "w"\nmsgid "x"\nmsgstr "X"\n'


@pytest.mark.parametrize(
    ("header", "forms", "after"),
    [
        (ONE_FORM, 'msgstr[0] ""\n', 'msgstr[0] "Y"\n'),
        (HEADER, 'msgstr[0] ""\nmsgstr[1] ""\n', 'msgstr[0] "X"\nmsgstr[1] "Y"\n'),
        (HEADER, 'msgstr[0] "v"\nmsgstr[1] ""\n', 'msgstr[0] "v"\nmsgstr[1] "Y"\n'),
        (HEADER, 'msgstr[0] ""\n""', 'msgstr[0] "X"\nmsgstr[1] "Y"\n'),
        (THREE_FORMS, 'msgstr[0] ""\n', 'msgstr[0] "X"\nmsgstr[1] "Y"\nmsgstr[2] "Y"\n'),
        (THREE_FORMS, 'msgstr[0] "v"', 'msgstr[0] "v"\nmsgstr[1] "Y"\nmsgstr[2] "Y"\n'),
    ],
)
def test_every_form_is_there(header: str, forms: str, after: str) -> None:
    """There are as many forms as the language has; missing ones are filled with the plural's translation."""
    entry = 'msgid "x"\nmsgid_plural "y"\n'
    assert capitals(f"{header}{entry}{forms}") == f"{header}#, fuzzy\n{entry}{after}"


def test_a_message_without_its_number_is_for_no_other_one() -> None:
    """Languages with three forms use that of "1 x" for "21 x", too, so a singular without a number does not fit."""
    entry = 'msgid "one x"\nmsgid_plural "%d y"\n'
    assert capitals(f'{THREE_FORMS}{entry}msgstr[0] ""\n').endswith(
        'msgstr[0] "%d Y"\nmsgstr[1] "%d Y"\nmsgstr[2] "%d Y"\n'
    )
    assert 'msgstr[0] "one X"\n' in capitals(f'{HEADER}{entry}msgstr[0] ""\n')


@pytest.mark.parametrize(("said", "charset"), [("EUC-JP", "UTF-8"), ("CHARSET", "UTF-8"), ("utf-8", "utf-8")])
def test_header_says_the_encoding(said: str, charset: str) -> None:
    """The file is written in UTF-8, so that a translation may use any character."""
    header = HEADER.replace("UTF-8", said)
    assert capitals(f'{header}msgid "x"\nmsgstr "v"\n') == HEADER.replace("UTF-8", charset) + 'msgid "x"\nmsgstr "v"\n'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'msgid "x"\nmsgid "y"\nmsgstr ""\n', "file: is not a valid .po from line 2 on"),
        (b'msgid "x"\nmsgstr ""\nmsgstr ""\n', "file: is not a valid .po from line 3 on"),
        (b'msgid "x"\nmsgid_plural "y"\nmsgstr ""\n', "file: is not a valid .po from line 3 on"),
        (b'msgid "x"\nmsgstr[0] ""\n', "file: is not a valid .po from line 2 on"),
        (b'msgstr ""\n', "file: is not a valid .po from line 1 on"),
        (b'msgid "x"\n# y\n"z"\nmsgstr ""\n', "file: is not a valid .po from line 3 on"),
        (b'msgid "x\nmsgstr ""\n', "file: is not a valid .po from line 1 on"),
        (b'msgid "x" y\nmsgstr ""\n', "file: is not a valid .po from line 1 on"),
        (b'msgid "x"\nmsgstr ""\n\nmsgid "y"\n', "file: is not a valid .po from line 4 on"),
        (b"/etc/passwd", "file: is not a valid .po from line 1 on"),
        (b'msgid "\xff"\nmsgstr ""\n', "file: is not in UTF-8: byte 7"),
    ],
)
def test_what_is_no_catalog_is_refused(content: bytes, reason: str) -> None:
    """The error gives the line at which the file ceases to be valid."""
    with pytest.raises(InvalidInputError) as error:
        html_of(content)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("begin", "run", "end"),
    [
        ('msgid "x', " ", 'y"\nmsgstr ""\n'),
        ('msgid "x', "\\n", 'y"\nmsgstr ""\n'),
        ('msgid ""\n', '"x "\n', 'msgstr ""\n'),
        ('msgid "x"\nmsgstr ""\n', '"v"\n', ""),
        ('msgid "', "<b>", '"\nmsgstr ""\n'),
        ("", "\n", 'msgid "x"\nmsgstr ""\n'),
        ("", "#,\n", 'msgid "x"\nmsgstr ""\n'),
    ],
)
def test_nothing_takes_long(begin: str, run: str, end: str) -> None:
    """300,000 characters of the same: if the time grew with the square of the length, this would never end."""
    assert len(capitals(begin + run * (300_000 // len(run)) + end)) > 250_000


_STRING = st.text(st.sampled_from('xy\\"\n\tあ<&> %'), max_size=8).filter(is_no_name)


@given(st.lists(st.tuples(st.booleans(), _STRING, _STRING), max_size=4))
def test_any_message_is_written_as_gettext_reads_it(entries: list[tuple[bool, str, str]]) -> None:
    """For any message, a translated file is valid and has nothing left to translate."""

    def quoted(text: str) -> str:
        escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n").replace("\t", r"\t")
        return f'"{escaped}"'

    file = HEADER + "".join(
        f"msgid {quoted(f'{number} {one}')}\n"
        + (f"msgid_plural {quoted(other)}\nmsgstr[0] " if several else "msgstr ")
        + '""\n'
        for number, (several, one, other) in enumerate(entries)
    )
    once = capitals(file)
    assert capitals(once) == once
    assert once.count("\nmsgid ") == len(entries)


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext's msgfmt")
def test_gettext_reads_what_is_written(tmp_path: Path) -> None:
    """`msgfmt`, which checks files before programs use them, accepts the whole file."""
    entries = 'msgid "\\nx %s\\n"\nmsgstr ""\n\n#, c-format\nmsgid "%d x"\nmsgid_plural "%d y"\nmsgstr[0] ""\n'
    file = tmp_path / "a.po"
    file.write_text(capitals(THREE_FORMS + entries), encoding="utf-8")
    done = subprocess.run(
        ["msgfmt", "--check-format", "--use-fuzzy", "--statistics", "-o", "/dev/null", file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, re.findall(r"\d+ \w+", done.stderr)) == (0, ["0 translated", "2 fuzzy"])
