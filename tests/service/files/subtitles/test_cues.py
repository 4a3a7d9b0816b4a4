"""Subtitles: sentences that span lines or subtitles are joined for translation and divided again afterwards."""

import pytest

from service.files.subtitles import cues

ENGLISH = """\
1
00:00:01,000 --> 00:00:03,000
I went to the old temple
because I was tired.

2
00:00:03,500 --> 00:00:05,000 X1:100
She wrote the tale,

3
00:00:05,500 --> 00:00:07,000
which is one of the oldest novels
in the world. He did not.

4
00:00:08,000 --> 00:00:09,000
- Who is there?
- the cat
"""
READ = [
    "I went to the old temple because I was tired.",
    "She wrote the tale, which is one of the oldest novels in the world. He did not.",
    "- Who is there?",
    "- the cat",
]
JAPANESE = """\
WEBVTT

00:01.000 --> 00:03.000
私は戦争に疲れていたので、
古い寺に行きました。

00:04.000 --> 00:05.000
彼女は

00:05.000 --> 00:06.000
紫式部です
"""


def said_in(text: str) -> list[str]:
    """The lines of subtitles that viewers read."""
    return [
        line for line in text.splitlines() if line and "-->" not in line and not line.isdigit() and line != "WEBVTT"
    ]


def as_it_was(text: str, end: str) -> str:
    """Subtitles with these line ends, "translated" into their own text."""
    content = text.replace("\n", end).encode()
    return cues.with_translation(content, cues.text_of(content)).decode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [ENGLISH, JAPANESE, ENGLISH.rstrip("\n"), "", "No subtitle\nat all."])
def test_a_sentence_is_divided_where_it_was(text: str, end: str) -> None:
    """Sentences are divided in proportion to the original pieces; times, numbers and line ends are preserved."""
    assert as_it_was(text, end) == text.replace("\n", end)


def test_a_sentence_that_goes_on_is_read_as_one() -> None:
    """A line without a full stop goes on in one that begins in lower case or with I, but not in another speaker's."""
    assert said_in(cues.text_of(ENGLISH.encode())) == READ
    assert said_in(cues.text_of(JAPANESE.encode())) == [
        "私は戦争に疲れていたので、古い寺に行きました。",
        "彼女は紫式部です",
    ]


def test_a_translation_is_divided_between_words() -> None:
    """There are as many pieces as before; a language without spaces is divided at the ends of phrases."""
    read = cues.text_of(ENGLISH.encode())
    said = ["疲れていたので古い寺に行きました。", "彼女は世界で最も古い小説の一つである物語を書いた。彼はしなかった。"]
    for sentence, translation in zip(READ, said, strict=False):
        read = read.replace(sentence, translation)
    assert said_in(cues.with_translation(ENGLISH.encode(), read).decode()) == [
        "疲れていたので",
        "古い寺に行きました。",
        "彼女は世界で最も",
        "古い小説の一つである物語を",
        "書いた。彼はしなかった。",
        *READ[2:],
    ]
    read = cues.text_of(JAPANESE.encode()).replace("私は戦争に疲れていたので、古い寺に行きました。", "I was so tired.")
    assert said_in(cues.with_translation(JAPANESE.encode(), read).decode())[:2] == ["I was so", "tired."]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("He came.", "and went"),
        ("He said:", "come"),
        ("♪ la la", "la la ♪"),
        ("<b>He</b> came", "and went"),
        ("<i>He came</i>", "and went"),
        ("He came", "<i>and went</i>"),
        ("<v Roger>He came", "<v Neil>and went"),
        ("He came", "- and went"),
        ("HE CAME", "[sighs]"),
        ("JOHN", "Come here"),
        ("そうですね", "行きましょう"),
        ("どうしたの", "別に"),
    ],
)
def test_other_lines_are_apart(one: str, other: str) -> None:
    """Not joined: ends of sentences, sounds and songs, lines of different styles, and possible other speakers."""
    text = f"1\n00:00:01,000 --> 00:00:03,000\n{one}\n{other}\n"
    read = cues.text_of(text.encode())
    assert len(read.split("\n")) == len(text.split("\n"))
    assert cues.with_translation(text.encode(), read).decode() == text


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (["<i>I went there</i>", "<i>because I was tired.</i>"], "I went there because I was tired."),
        (["<i>I went there", "because I was tired.</i>"], "I went there because I was tired."),
        (["{\\an8}<i>I went there", "because I was tired.</i>"], "I went there because I was tired."),
        (["<font color='#fff'><i>I did</i></font>"], "I did"),
        (["<v Roger>I went there", "because I was tired."], "I went there because I was tired."),
        (["<i>i</i>"], "i"),
        (["  <i> I <b>did</b> </i>"], "<i> I <b>did</b> </i>"),
        (["<i></i>"], "<i></i>"),
    ],
)
def test_what_lines_look_like_stays_around_them(lines: list[str], read: str) -> None:
    """Formatting around whole lines is not part of the sentence, which may span lines of the same format."""
    text = "\n".join(["1", "00:00:01,000 --> 00:00:03,000", *lines, ""])
    assert said_in(cues.text_of(text.encode())) == [read]
    assert cues.with_translation(text.encode(), cues.text_of(text.encode())).decode() == text


@pytest.mark.parametrize(
    "line", ["<ruby>紫<rt>むらさき</rt>式部<rt class>しきぶ</ruby>です", "<ruby.big>紫式部</ruby>です"]
)
def test_readings_are_left_out(line: str) -> None:
    """Nobody needs them in another language, and what is within a `<rt>` has to follow what it is the reading of."""
    text = f"WEBVTT\n\n00:01.000 --> 00:02.000\n<i>{line}</i>\n"
    assert said_in(cues.text_of(text.encode())) == ["紫式部です"]
    translated = cues.with_translation(text.encode(), cues.text_of(text.encode()).replace("紫式部です", "Murasaki"))
    assert said_in(translated.decode()) == ["<i>Murasaki</i>"]


def test_a_translation_that_is_too_short_leaves_subtitles_empty() -> None:
    """A single word cannot be divided."""
    text = "1\n00:00:01,000 --> 00:00:03,000\nHe did\n\n2\n00:00:04,000 --> 00:00:05,000\nnot come\n"
    translated = cues.with_translation(text.encode(), cues.text_of(text.encode()).replace("He did not come", "No"))
    assert translated.decode() == text.replace("He did", "No").replace("not come", "")


def test_a_long_word_is_no_reason_to_leave_a_subtitle_empty() -> None:
    """The text is divided at a space, however far that is from the middle."""
    text = "1\n00:00:01,000 --> 00:00:03,000\nLook there\n\n2\n00:00:04,000 --> 00:00:05,000\nand here\n"
    said = "See https://example.org/a/very/long/address/of/a/page now"
    translated = cues.with_translation(text.encode(), cues.text_of(text.encode()).replace("Look there and here", said))
    assert said_in(translated.decode()) == [said.removesuffix(" now"), "now"]


def test_many_lines_do_not_take_long() -> None:
    """If the time grew with the square of the number of lines, or of a line's length, this would never end."""
    begin = "1\n00:00:01,000 --> 00:00:03,000\n"
    lines = [
        "<i>" * 100_000,
        "</i>" * 100_000,
        f"a{' ' * 100_000}</i",
        "<i " * 100_000,
        "<rt " * 100_000,
        "<ruby" * 100_000,
        "<i>a</i" * 100_000,
        "」" * 400_000 + "x\nhe",
    ]
    for text in [f"{begin}he goes\n\n" * 100_000, *(begin + line for line in lines)]:
        content = text.encode()
        assert cues.with_translation(content, cues.text_of(content)) == content
