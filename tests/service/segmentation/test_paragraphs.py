"""Hand-wrapped paragraphs are read as one line; verses, lists, tables and code stay as they are."""

import pytest

from service.segmentation.paragraphs import unwrapped

PLAIN = """\
Thank you for your letter of the third of May, which I have read with
great interest. We would be glad to meet you in Kyoto. The temple of
Kiyomizu-dera is near.
"""
RAGGED = """\
This line was changed by somebody who did not wrap it again, so that
it is
longer than it was, and some of its lines are as short as any. Yes.
The next one begins a sentence, and
goes on, but this one was too short to say so.
"""
QUOTED = """\
> We would be glad to meet you in Kyoto, as we said, and hope that you are
> well. The temple is near.
Thank you for your letter of the third of May. I have not had the time to
answer it.
"""
LISTED = """\
- An item of a list that is so long that it has to go on in the next line,
  which is set back
- Another item, to which nobody has set back the next line that it goes
on in
# A heading as long as a line of a letter can be before it has to end here
and text without an empty line before it
"""
JAPANESE = """\
　紫式部は、平安時代中期の女流作家であり、藤原為時の娘で、幼い頃から漢籍に
親しんでいた。中宮彰子に仕え、その間に『源氏物語』を著したとされる。夫の藤原宣
孝に先立たれた後に、書き始めたとも言われる。
　和歌も多く残している。
"""


KOREAN = """\
영희는 어제 시내에 있는 큰 서점에서 빨간
책을 한 권 샀는데 집에 돌아와서 저녁을 먹기
전에 벌써 절반을 읽었다. 그 책은 오래된 집에
사는 가족의 이야기다.
"""
ARABIC = """\
اشترى محمد كتابا أحمر من المكتبة القريبة من بيته يوم أمس وقرأ منه
ثلاثين صفحة في المساء قبل أن ينام. هل أعجبه الكتاب؟ نعم، لأنه كان
جميلا جدا وفيه صور كثيرة.
"""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (PLAIN, PLAIN.replace("\n", " ", 2)),
        (PLAIN.replace("\n", "\r\n"), PLAIN.replace("\n", " ", 2).replace("\n", "\r\n")),
        (RAGGED, RAGGED.replace("that\nit", "that it")),
        (QUOTED, QUOTED.replace("\n> well", " well").replace("to\nanswer", "to answer")),
        (LISTED, LISTED.replace("\n  which", " which").replace("goes\non", "goes on")),
        ("They ran away from the well-known hunter who lives in the well-\nknown house.", None),
        (f"{PLAIN}\n{PLAIN}", "\n".join([PLAIN.replace("\n", " ", 2)] * 2)),
    ],
)
def test_lines_that_are_wrapped_are_joined(text: str, read: str | None) -> None:
    """Lines are joined if the next word had no room or is in lower case; repeated quotation marks are dropped."""
    assert unwrapped(text, "en") == (text.replace("\n", "") if read is None else read)


@pytest.mark.parametrize(("language", "text"), [("ko", KOREAN), ("ar", ARABIC)])
def test_full_lines_are_joined_in_languages_without_lower_case(language: str, text: str) -> None:
    """Unless there are only two, or one had room for the next word."""
    lines = text.splitlines(keepends=True)
    assert unwrapped(text, language) == text.replace("\n", " ", len(lines) - 1)
    two, short = "".join(lines[:2]), text.replace(" ", "\n", 3)
    assert unwrapped(two, language) == two
    assert unwrapped(short, language) == short


def test_japanese_is_joined_without_a_space() -> None:
    """There is no lower case, so lines must be full to be joined; an indented line begins a paragraph."""
    assert unwrapped(JAPANESE, "ja") == JAPANESE.replace("\n", "", 2)
    short = JAPANESE.replace("為時", "為\n時")
    assert unwrapped(short, "ja") == short
    latin = "彼は京都市中京区の研究所で長年使われている計算機の Microsoft\nWindows を、"
    rest = f"{'昨年の春に新しくした。' * 2}そして彼は\n{'字' * 33}\n字。"
    assert unwrapped(latin + rest, "ja") == latin.replace("\n", " ") + rest.replace("\n", "")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "John Smith\n12 Long Street\nKyoto\n"),
        ("en", "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough winds do\n"),
        ("en", "one sentence per line is what some people write here.\nanother sentence is on the next line.\n"),
        ("en", "The first line ends with a break that is meant, by two spaces at its end  \nand does not go on.\n"),
        ("en", "The first line ends with a break that is meant, by a backslash at its end\\\nand does not go on.\n"),
        ("en", "    code(that, is, set_back, and_long, enough, to_be, text)\n    goes(on, here)\n"),
        ("en", ">>> code_that_is_an_example(of_what, python, has_in_its, documentation)\n>>> goes(on, here)\n"),
        ("en", "--output FILE          the file that all of it is written into\n--quiet   and nothing else\n"),
        ("en", "/var/lib/a-folder/another-one/and-a-file-in-it\n/var/lib/b\nhttps://example.org/a/long/address\n"),
        ("en", "```\nsome code that is longer than forty columns, and goes on\nhere\n```\n"),
        ("en", "| a cell of a table | and another cell of a table |\n|---|---|\n| the cells | below |\n"),
        ("en", "1\n00:00:01,000 --> 00:00:02,000\nThe first line of a subtitle, which is long,\nand another one.\n"),
        ("en", "A single line, of which there is nothing to be said but that it is long"),
        (
            "ja",
            "詳しくは。\nhttps://example.org/a/long/address/of/a/page\nhttps://example.org/another/long/address\n字",
        ),
        ("ja", "春はあけぼの\nやうやう白くなりゆく山ぎは\n少し明かりて\n"),
        ("ja", "京都府京都市上京区下立売通新町西入薮ノ内町\n京都府京都市中京区寺町通御池上る上本能寺前町\n"),
        ("ja", "紫式部は、平安時代中期の女流作家である。\n清少納言も、平安時代中期の女流作家である。\n" * 3),
    ],
)
def test_other_lines_stay(language: str, text: str) -> None:
    """Verses, addresses, lists, code, tables, subtitles and intended line breaks stay."""
    assert unwrapped(text, language) == text


def test_a_line_may_have_marks_alone() -> None:
    """However wide its quotation marks are, nothing continues a line that has no text after them."""
    quoted = "> " * 30
    text = f"{quoted}a)\n{quoted}{'字' * 3}\n{quoted}{'字' * 3}\n{quoted}字。\n"
    assert unwrapped(text, "ja") == f"{quoted}a)\n{quoted}{'字' * 7}。\n"


def test_many_lines_do_not_take_long() -> None:
    """If the time grew with the square of the number of lines, or of their marks, this would never end."""
    for line in (
        "a word and another, and so on, of which there are forty columns\n",
        "> " * 50 + "a\n",
        "\u3000\n",
        "-\n",
    ):
        unwrapped(line * 100_000, "en")


def test_a_row_of_brackets_does_not_take_long() -> None:
    """Each of them might begin the end of a sentence; with the square of their number, this would never end."""
    text = f"{'」' * 250_000}か\nき\n"
    assert unwrapped(text, "ja") == text
