"""Subtitles in .ass and .ssa: the words of dialogue are translated, and all else stays as it is."""

import re
from collections.abc import Mapping

import pytest

from service.errors import InvalidInputError
from service.files.subtitles import substation

SCRIPT = r"""[Script Info]
; Dialogue: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,a comment
ScriptType: v4.00+
WrapStyle: 0

[Aegisub Project Garbage]
Active Line: 3

[V4+ Styles]
Format: Name, Fontname, Fontsize
Style: Default,源ノ角ゴシック,72
Style: Sign,IPA明朝,60

[Fonts]
fontname: chaucer_B0.ttf
!!%!!!!-!)!!!Q!Q4V6T;69,=F96;'4A:&5A9%1D
[EVENTS!!

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:00.00,Default,,0,0,0,,part one
Dialogue: 0,0:00:09.00,0:00:12.00,Default,,0,0,0,,{\an8}Last, as he  said.
Dialogue: 0,0:00:01.00,0:00:03.00,Default,Neil,0,0,0,,{\i1}I went to the old temple\Nbecause I was tired.{\i0}
Dialogue: 0,0:00:03.00,0:00:05.00,Default,Neil,0,0,0,,She wrote the tale,
Dialogue: 1,0:00:04.00,0:00:08.00,Sign,,0,0,0,,{\pos(10,20)\blur1}Kyoto
Dialogue: 0,0:00:04.00,0:00:08.00,Sign,,0,0,0,,{\pos(10,20)\blur3\bord5}Kyoto
Dialogue: 0,0:00:05.00,0:00:07.00,Default,Neil,0,0,0,,which is one of the oldest novels\nin the world.
Dialogue: 0,0:00:07.00,0:00:08.00,Default,,0,0,0,, - Who is there?\N- the cat
Dialogue: 0,0:00:07.00,0:00:08.00,Default,,0,0,0,fx,{\pos(1,1)\t(0,200,\fscx120)}syl
Dialogue: 0,0:00:07.00,0:00:08.00,Default,,0,0,0,template line,{\pos(1,1)}template
Dialogue: 0,0:00:07.00,0:00:08.00,Sign,,0,0,0,,{\p1}m 0 0 l 100 0 100 50{\p0}
Dialogue: 0,0:00:08.00,0:00:08.00,Sign,,0,0,0,,
Dialogue: cut off

[Aegisub Extradata]
Dialogue: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,not an event
"""
READ = [
    "I went to the old temple because I was tired.",
    "She wrote the tale, which is one of the oldest novels in the world.",
    "Kyoto",
    "- Who is there?",
    "- the cat",
    "Last, as he  said.",
]
BEGIN = "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"

CROSSED = (
    '<span id="0">a</span>bb<span id="2">cc</span><span id="3">d</span>',
    'B<span id="3">D</span><span id="2">C</span><span id="0">A</span>',
)
RESET = ('<span id="0">a</span>bb<span id="2">c</span>', 'B<span id="0">A</span><span id="2">C</span>')
"""What is read of lines whose looks do not lie within each other, and translations in another order."""


def read_in(content: bytes) -> list[str]:
    """The sentences and lines of a file."""
    return re.findall("<p>(.*?)</p>", substation.html_of(content))


def translated(content: bytes, translations: Mapping[str, str]) -> str:
    """A file with such translations of its sentences; the others stay."""
    html = "".join(f"<p>{translations.get(said, said)}</p>" for said in read_in(content))
    return substation.with_translation(content, html).decode()


def script(*texts: str) -> bytes:
    """Events one after the other, with these texts."""
    lines = (
        f"Dialogue: 0,0:00:0{second}.00,0:00:0{second + 1}.00,Default,,0,0,0,,{text}\n"
        for second, text in enumerate(texts)
    )
    return (BEGIN + "".join(lines)).encode()


def texts_of(file: str) -> list[str]:
    """The texts of the events."""
    return [line.split(",", 9)[9] for line in file.splitlines() if line.startswith("Dialogue: ") and "," in line]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_all_but_the_words_stays(end: str, mark: str) -> None:
    """Byte for byte: styles, fonts, comments, times, blocks, ends of lines, and what templates have made."""
    content = (mark + SCRIPT.replace("\n", end)).encode()
    assert substation.with_translation(content, substation.html_of(content)) == content
    new = translated(content, {"Kyoto": "京都", "- the cat": "- 猫", "Last, as he  said.": "最後, と言った。"})
    expected = mark + SCRIPT.replace("Kyoto", "京都").replace("- the cat", "- 猫").replace("\n", end)
    assert new == expected.replace("Last, as he  said.", "最後, と言った。")


def test_dialogue_is_read_in_the_order_of_time() -> None:
    """Each sentence as one, though it goes on in the next line, or in the next event behind a sign."""
    assert read_in(SCRIPT.encode()) == READ
    assert read_in(SCRIPT.encode("utf-16")) == READ


def test_a_translation_is_divided_where_the_sentence_was() -> None:
    """With the blocks of each line; where words do not suffice, a line is left out."""
    said = ["疲れていたので古い寺に行きました。", "彼女は世界で最も古い小説の一つである物語を書いた。"]
    texts = texts_of(translated(SCRIPT.encode(), dict(zip(READ, said, strict=False))))
    assert texts[1:3] == [r"{\i1}疲れていたので\N古い寺に行きました。{\i0}", "彼女は世界で"]
    assert texts[5] == r"最も古い小説の一つである物語を\n書いた。"
    short = texts_of(translated(SCRIPT.encode(), {READ[0]: "疲"}))
    assert short[1] == r"{\i1}疲{\i0}"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0:00:01.00,0:00:02.00,Default,Neil", "0:00:02.00,0:00:03.00,Default,Roger"),
        ("0:00:01.00,0:00:02.00,Default,Neil", "0:00:02.00,0:00:03.00,Sign,Neil"),
        ("0:00:01.00,0:00:02.00,Default,Neil", "0:00:01.00,0:00:03.00,Default,Neil"),
    ],
)
def test_somebody_else_does_not_go_on(first: str, second: str) -> None:
    """Nor words that look otherwise, or are shown at the same time."""
    content = f"{BEGIN}Dialogue: 0,{first},0,0,0,,He came\nDialogue: 0,{second},0,0,0,,and went\n".encode()
    assert read_in(content) == ["He came", "and went"]


@pytest.mark.parametrize(
    "texts",
    [
        (r"{\i1}He came", "and went"),
        ("He came", r"{\an8}and went"),
        (r"{\pos(1,2)}He came", r"{\pos(3,4)}and went"),
        (r"He {\i1}came", r"{\i1}and went"),
        ("He came", "Yes.", "and went"),
    ],
)
def test_what_looks_otherwise_or_comes_after_something_else_is_apart(texts: tuple[str, ...]) -> None:
    """Another place counts as well."""
    assert len(read_in(script(*texts))) == len(texts)


@pytest.mark.parametrize(
    ("text", "read", "translation", "written"),
    [
        # what is around a whole line is not read
        (r"{\an8\fad(200,200)}{\i1} He came. {\i0}", "He came.", "来た。", r"{\an8\fad(200,200)}{\i1} 来た。 {\i0}"),
        (r"\h\hHe\hcame\h", "He\u00a0came", "来\u00a0た", r"\h\h来\hた\h"),
        # what is among the words stays around the same ones
        (r"He {\i1}did{\i0} it", 'He <span id="1">did</span> it', 'それ<span id="1">した</span>', r"それ{\i1}した"),
        (
            r"{\i1}He{\i0} did it",
            '<span id="0">He</span> did it',
            'A<span id="0">B</span>C',
            r"{\i0}A{\i1}B{\i0}C",
        ),
        (r"He {\b1}did it", '<span id="0">He </span>did it', 'A<span id="0">B</span>', r"{\b1}A{\b}B"),
        (
            r"{\c&H1&}a{\c&H2&}bb{\1c&H3&}c",
            '<span id="0">a</span>bb<span id="2">c</span>',
            '<span id="2">C</span>B<span id="0">A</span>',
            r"{\1c&H3&}C{\c&H2&}B{\c&H1&}A",
        ),
        (r"a{\rSign}b{\r}cc", 'a<span id="1">b</span>cc', 'A<span id="1">B</span>C', r"A{\rSign}B{\r}C"),
        (r"They{\i0} so{\i1}.", 'They<span id="1"> so</span>.', 'A<span id="1">B</span>', r"A{\i0}B"),
        (r"{\i1}a{\b1}bb{\i0}cc{\b0}d", *CROSSED, r"{\i1}{\b1}B{\i0\b0}D{\b1}C{\b0\i1}A"),
        (r"{\fs9}a{\rSign\i1}bb{\r}c", *RESET, r"{\rSign\i1}B{\r\fs9}A{\fs}C"),
        (
            r"{\i1\b1}{\an8} {\fs9\1c&H1&} a{\c}bb{note}",
            '<span id="0">a</span>bb',
            "B",
            r"{\i1\b1}{\an8} {\fs9}{\c} B{note}",
        ),
        # the next line looks as it did
        (r"He {\i1}did\Nit", 'He <span id="1">did</span>', '<span id="1">した</span>彼', r"{\i1}した{\i}彼{\i1}\Nit"),
        (r"He {\i1}did\Nit", 'He <span id="1">did</span>', '<span id="1">した</span>', r"{\i1}した\Nit"),
        # comments, and what counts for the whole event, stay in it
        (r"He {a note}came{\pos(1,2)} in", "He came in", "来た", r"来た{a note}{\pos(1,2)}"),
        (r"He {a note\i1}came", '<span id="0">He </span>came', "来た", r"{\i1}来た{a note}"),
        (r"{a note}He came{another}", "He came", "来た", "{a note}来た{another}"),
        # neither karaoke nor what changes with the time can be divided
        (r"{\k20}He {\k15}came {\kf30}in", "He came in", "来た", r"{\k20}来た"),
        (r"He {\i1\t(0,500,\fs40)}came", "He came", "来た", "来た"),
        (r"{\p1}m 0 0 l 100 0 100 50{\p0}He came", "He came", "来た", r"{\p1}m 0 0 l 100 0 100 50{\p0}来た"),
        # signs of HTML are signs, and braces of a translation would hide it
        ("<i>He</i> & I", "&lt;i&gt;He&lt;/i&gt; &amp; I", "&lt;i&gt;{彼}&lt;/i&gt; &amp;", "<i>(彼)</i> &"),
        (r"He \{came\} {\i1}in", 'He {came} <span id="1">in</span>', '<span id="1">A</span>{B}', r"{\i1}A{\i}\{B\}"),
    ],
)
def test_blocks_stay_with_their_words(text: str, read: str, translation: str, written: str) -> None:
    """As tags do elsewhere: a text, what is read of it, its translation, and what is written."""
    content = script(text)
    assert read_in(content)[0] == read
    assert texts_of(translated(content, {read: translation})) == [written]


@pytest.mark.parametrize("text", ["", r"{\an8}", r"\N", r"{\p4}m 0 0 b 1 1\N2 2", "{He came", r"{\k20}{note} \h"])
def test_an_event_without_words_is_not_read(text: str) -> None:
    """It is empty, a drawing, or its block is not closed."""
    assert read_in(script(text, "He came.")) == ["He came."]


def test_the_same_words_at_the_same_place_are_translated_once() -> None:
    """Of layers and frames of a sign; what is said again later has another context."""
    content = script(r"{\pos(1,1)}Kyoto", r"{\pos(1,2)\blur2}Kyoto", "Kyoto", "He came.", r"{\i1}Kyoto")
    assert read_in(content) == ["Kyoto", "He came.", "Kyoto"]
    written = substation.with_translation(content, "<p>京</p><p>来た。</p><p>都</p>").decode()
    assert texts_of(written) == [r"{\pos(1,1)}京", r"{\pos(1,2)\blur2}京", "京", "来た。", r"{\i1}都"]


def test_the_format_says_where_the_text_is() -> None:
    """Fields may be others, as in .ssa; without a line that names them, they are the usual ones."""
    for head, line in [
        ("Format: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n", "Marked=0"),
        ("", "0"),
    ]:
        content = f"[Events]\n{head}Dialogue: {line},0:00:01.00,0:00:02.00,*Default,,0,0,0,,a, b\n".encode()
        assert read_in(content) == ["a, b"]
    content = (
        b"[events]\nformat: Start,End,Text\ndialogue: 0:00:02.00,0:00:03.00,b, c\ndialogue:0:00:01.00,0:00:02.00,A.\n"
    )
    assert read_in(content) == ["A.", "b, c"]
    assert translated(content, {"b, c": "c, d"}).encode() == content.replace(b"b, c", b"c, d")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\nHe came.\n", r"file: has no section \[Events\]"),
        ("[Events]\nFormat: Start, Text, End\n", "file: line 2: the last field is not Text"),
        ("[Events]\n" + "Dialogue: ,,,,,,,,,a\n" * 3, "file: has more than 2 lines of dialogue"),
        ("[Events]\nDialogue: ,,,,,,,,,a\\Na\\na", "file: has more than 2 lines of dialogue"),
    ],
)
def test_another_file_is_refused(content: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its text is not to be found, or is too much."""
    monkeypatch.setattr(substation, "_MOST_LINES", 2)
    with pytest.raises(InvalidInputError, match=problem):
        substation.html_of(content.encode())


def test_many_signs_do_not_take_long() -> None:
    """A time that grew with the square of their number would never end here."""
    texts = [
        *(sign * 20_000 for sign in (r"a{\i1}b{\i0}", "a{x}", r"a\N", r"a{\pos(1,2)}")),
        *(sign * 200_000 for sign in ("a{", "{", r"\h", "\\")),
        "".join(f"a{{\\c&H{number:06x}&}}" for number in range(10_000)),
        "{" + "\\i1" * 20_000 + "}a{" + "\\t(" * 200_000 + "}b",
        f"{{\\t{' ' * 200_000}{{\\p{'1' * 200_000}",
        "a".join([r"\h" * 100_000] * 3),
        "{x}{\\i1}" * 100_000 + r"a{\i0}b",
    ]
    for text in texts:
        content = script(text)
        read = substation.html_of(content)
        assert substation.with_translation(content, read) == content
        substation.with_translation(content, read.replace("<p>", "<p>x"))
