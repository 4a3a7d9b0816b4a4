"""Splitting text into sentences, and joining them again."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.text.spacing import sentence_gap_of
from models.text.words import has_words
from service.segmentation.splitting import Segmented, parts, split

LANGUAGES = ["ja", "zh", "en", "de", "fr", "es", "ru", "ar", "th"]
_PIECES = [
    "。",
    ".",
    "!",
    "?",
    "…",
    "1.",
    "(a)",
    "- ",
    "・",
    "①",
    "# ",
    "> ",
    "　",
    " ",
    "\t",
    "|",
    "\n",
    "\r\n",
    "\u2028",
    "\x85",
]
_PIECES += [
    "「",
    "」と",
    "—",
    "\ufeff",
    "\u200b",
    "\u202e",
    "e\u0301",
    "👩‍👩‍👧",
    "🙂",
    "***",
    "M. ",
    "im 19. ",
    "a",
    "Ab",
    "彼",
]
TEXTS = st.lists(st.one_of(st.sampled_from(_PIECES), st.characters(exclude_categories=["Cs"]))).map("".join)


def segmented(text: str, language: str = "en", *, longest: int = 100, most: int = 1000) -> Segmented:
    """Split a text."""
    return split(text, language, longest=longest, most=most)


@given(text=TEXTS, language=st.sampled_from(LANGUAGES), longest=st.integers(1, 30), most=st.integers(0, 10))
@example(text="\ufeff# a\r\n\r\n\u3000- b\u2028c\x85\x1fd\x1c", language="en", longest=30, most=10)
def test_joining_what_was_split_gives_the_text(text: str, language: str, longest: int, most: int) -> None:
    """No character is lost, added or moved; no sentence is empty or has white space at its ends."""
    document = segmented(text, language, longest=longest, most=most)
    assert document.join(document.sentences) == text
    assert len(document.sentences) <= most
    assert len(document.separators) == len(document.sentences) + 1
    assert all(sentence and sentence == sentence.strip() for sentence in document.sentences)


@pytest.mark.parametrize("clause", ["京都は古い都であり、", "Kyoto, as they say, "])
def test_text_that_is_too_long_is_divided_at_its_clauses(clause: str) -> None:
    """A document is not refused because of one long sentence."""
    text = clause * 15 + "end."
    document = segmented(text, "ja")
    assert document.join(document.sentences) == text
    assert len(document.sentences) > 1
    assert all(len(sentence) <= 100 for sentence in document.sentences)
    assert all(sentence.endswith((",", "、")) for sentence in document.sentences[:-1])


@pytest.mark.parametrize(
    "text", ["so we went to the temple and it was nice and " * 5, "紫" * 205, "<b>" + "か゚" * 150 + "</b>"]
)
def test_text_without_clauses_is_divided_between_words_or_anywhere(text: str) -> None:
    """Even a transcript without punctuation can be translated; combining marks stay with their letters."""
    document = segmented(text, "ja")
    assert document.join(document.sentences) == text
    assert len(document.sentences) > 1
    assert all(len(sentence.removeprefix("<b>").removesuffix("</b>")) <= 100 for sentence in document.sentences)
    assert not any(sentence.startswith("\u309a") for sentence in document.sentences)


@given(text=TEXTS, language=st.sampled_from(LANGUAGES), data=st.data())
def test_other_sentences_keep_what_stood_around_them(text: str, language: str, data: st.DataObject) -> None:
    """Whatever the translations, the separators between them stay, except that mere spaces become the gap."""
    document = segmented(text, language)
    others = [data.draw(st.text(max_size=3)) for _ in document.sentences]
    first, *inner = document.separators
    spaces = " \u00a0\u2002\u2003\u2009\u202f\u3000"
    rest: Sequence[str] = [separator if separator.strip(spaces) else "_" for separator in inner[:-1]] + inner[-1:]
    expected = first + "".join(map("".join, zip(others, rest, strict=True)))
    assert document.join(others, gap="_") == expected
    around = document.separators_with("_")
    assert "".join(map("".join, zip(around, [*others, ""], strict=True))) == expected


@pytest.mark.parametrize(
    ("language", "line", "mark"),
    [
        ("en", "- one", "- "),
        ("en", "* one", "* "),
        ("en", "+ one", "+ "),
        ("en", "• one", "• "),
        ("en", "· one", "· "),
        ("en", ": one", ": "),
        ("en", ":   one", ":   "),
        ("en", "&bull; one", "&bull; "),
        ("en", "&#8226;&nbsp;<b>one</b> two", "&#8226;&nbsp;"),
        ("en", "<b>1.</b> one", "<b>1.</b> "),
        ("en", "<b>1. </b>one", "<b>1. </b>"),
        ("en", "<b>1. one</b>", "<b>1. "),
        ("en", "<br/> <p><b>1. one</b></p>", "<br/> <p><b>1. "),
        ("en", "<i>- one.</i>", "<i>- "),
        ("en", '<a href="#a">[1]</a> one', '<a href="#a">[1]</a> '),
        ("en", "<span>·<span>&nbsp;&nbsp; </span></span>one<o:p></o:p>", "<span>·<span>&nbsp;&nbsp; </span></span>"),
        ("en", "**1.** one", "**1.** "),
        ("en", "> **1) one**", "> **1) "),
        ("ja", "<b>■一つ</b>", "<b>■"),
        ("en", "•one", "•"),
        ("en", "1. one", "1. "),
        ("en", "12) one", "12) "),
        ("en", "(a) one", "(a) "),
        ("en", "(iv)\tone", "(iv)\t"),
        ("en", "b) one", "b) "),
        ("en", "# One", "# "),
        ("en", "### 1. One", "### 1. "),
        ("en", "> one", "> "),
        ("en", "> [!note] one", "> [!note] "),
        ("en", "> [!TIP]- one", "> [!TIP]- "),
        ("en", "> > - [x] one", "> > - [x] "),
        ("en", "\t  - one", "\t  - "),
        ("en", "\ufeff# One", "\ufeff# "),
        ("ja", "・一つ。", "・"),
        ("ja", "　・　一つ。", "　・　"),
        ("ja", "①一つ。", "①"),
        ("en", "1️⃣ One", "1️⃣ "),
        ("ja", "1️⃣0️⃣一つ。", "1️⃣0️⃣"),
        ("ja", "(1)一つ。", "(1)"),
        ("ja", "（１）一つ。", "（１）"),
        ("ja", "１．一つ。", "１．"),
        ("ja", "1.一つ。", "1."),
        ("ja", "※ 一つ。", "※ "),
        ("ja", "　一つ。", "　"),
        ("de", "1. Eins.", "1. "),
        ("en", "II. One", "II. "),
        ("en", "iv) one", "iv) "),
        ("ja", "III.一つ。", "III."),
        ("ja", "ア．一つ。", "ア．"),
        ("ja", "イ) 一つ。", "イ) "),
        ("ja", "ウ）一つ。", "ウ）"),
        ("ja", "（ア）一つ。", "（ア）"),
        ("ja", "(ア)一つ。", "(ア)"),
        ("ja", "（Ａ）一つ。", "（Ａ）"),
        ("ja", "Ａ）一つ。", "Ａ）"),
        ("ja", "（二）一つ。", "（二）"),
        ("ja", "十二．一つ。", "十二．"),
        ("ja", "■一つ。", "■"),
        ("ja", "◆１．一つ。", "◆１．"),
        ("ja", "●一つ。", "●"),
        ("ja", "※一つ。", "※"),
        ("ja", "･一つ。", "･"),
        ("ja", "ⅳ）一つ。", "ⅳ）"),
        ("ja", "Ⅳ．一つ。", "Ⅳ．"),
        ("ja", "（ⅳ）一つ。", "（ⅳ）"),
        ("en", "2.1.1 One", "2.1.1 "),
        ("ja", "10.3.2.　一つ。", "10.3.2.　"),
        ("ja", "2024-05-03 一つ。", "2024-05-03 "),
        ("ja", "2024/05/03 10:11 一つ。", "2024/05/03 10:11 "),
        ("en", "2024-05-03T10:11:12.123Z One", "2024-05-03T10:11:12.123Z "),
        ("en", "2024-05-03 10:11 one", "2024-05-03 10:11 "),
        ("ja", "２　一つ。", "２　"),
        ("ja", "　十二　一つ。", "　十二　"),
        ("ja", "イ　一つ。", "イ　"),
        ("en", "[1] One", "[1] "),
        ("ja", "[00:12:34] 一つ。", "[00:12:34] "),
        ("en", "- [2024-05-03 10:11:12] One", "- [2024-05-03 10:11:12] "),
    ],
)
def test_marks_at_the_beginning_of_a_line_are_kept_and_not_translated(language: str, line: str, mark: str) -> None:
    """Indentation, list markers, heading marks and mail quotation marks come before the sentence, not in it."""
    text = f"{line}\n{line}"
    document = segmented(text, language)
    assert document.separators == (mark, f"\n{mark}", "")
    assert document.sentences == (line.removeprefix(mark),) * 2


def test_what_announces_an_example_is_no_part_of_the_sentence() -> None:
    """It stays behind the sentence: two colons of reStructuredText."""
    found = segmented("One two::\n\nthree ::\nfour:::\n::", "en")
    assert found.sentences == ("One two", "three ::", "four:::")
    assert found.join(["A", "B", "C"]) == "A::\n\nB\nC\n::"


@pytest.mark.parametrize("name", ["{#one}", "{#one .two}", "{: #one}", "{: .note }", '{.two title="Three four"}'])
def test_name_of_a_heading_stays_behind_it(name: str) -> None:
    """Links refer to the heading by its name."""
    document = segmented(f"## One. Two {name} \n## {name}\n{name}\nText {{name}}\n", "en")
    assert document.sentences == ("One.", "Two", "Text {name}")
    assert document.separators[2] == f" {name} \n## {name}\n{name}\n"


def test_space_beside_bold_words_stays() -> None:
    """It stays even in a language without spaces, or Markdown would not recognize the emphasis."""
    document = segmented("**One.** Two. _Three._ Four. Five.", "en")
    translations = ["**一。**", "二。", "_三。_", "四。", "五。"]
    assert document.join(translations, gap="") == "**一。** 二。 _三。_ 四。五。"
    assert segmented("**一。**二。", "ja").join(["**One.**", "Two."], gap=" ") == "**One.** Two."


def test_line_break_of_markdown_stays_behind_its_line() -> None:
    """The backslash at the end of a line is a separator; in a sentence the model would drop it."""
    document = segmented("One.\\\nTwo \\ three \\\n\\\n", "en")
    assert document.sentences == ("One.", "Two \\ three")
    assert document.separators == ("", "\\\n", " \\\n\\\n")


@pytest.mark.parametrize(
    ("line", "titles"),
    [
        ('!!! warning "One two"', ["One two"]),
        ('=== "One two"', ["One two"]),
        ("=== One", ["=== One"]),
        ('    ??? tip inline end "One. Two?"', ["One.", "Two?"]),
        ("!!! note", []),
        ("??? question", []),
        (":::note One two", ["One two"]),
        ("> [!info]", []),
        (":::tip[One two]", ["One two"]),
        ("::: {.callout-note} One", ["One"]),
        ("> :::info", []),
        ("!!! wow", ["!!! wow"]),
        ("!!! One!", ["One!"]),
        ("::: One", ["::: One"]),
    ],
)
def test_what_begins_a_box_stays_but_for_its_title(line: str, titles: list[str]) -> None:
    """MkDocs or Docusaurus knows the kind of box by its name; a translated title is put back between its delimiters."""
    document = segmented(f"{line}\nText.", "en")
    assert document.sentences == (*titles, "Text.")
    if len(titles) == 1:
        assert document.join(["x", "Text."]) == f"{line.replace(titles[0], 'x')}\nText."


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "-5 degrees"),
        ("en", "*really* good"),
        ("en", "#hashtag for all"),
        ("en", ":smile: it is"),
        ("en", "(s)he"),
        ("en", "3.14 is pi"),
        ("en", "1984. It was cold"),
        ("en", "A. Smith came"),
        ("en", "I. Newton came"),
        ("en", "IV drips help"),
        ("en", "2.5 million people"),
        ("en", "192.168.0.1 is the router"),
        ("de", "2024-05-03 war es kalt"),
        ("en", "1/2 cup"),
        ("en", "10:30 to 11:00 it is open"),
        ("ja", "一 度来た。"),
        ("en", "[a] is a letter"),
        ("ja", "[2019]年の例だ。"),
        ("ja", "2024-05-03に来た。"),
        ("ja", "Ⅳ章を読む。"),
        ("ja", "（株）京都が来た。"),
        ("ja", "一、二の例だ。"),
        ("ja", "アは母音だ。"),
        ("ja", "Ｊ．Ｓ．バッハが来た。"),
        ("ja", "Ａ．　一つ。"),
        ("ja", "■■さんが来た。"),
        ("ja", "●月●日に来た。"),
        ("ja", "○が正しい。"),
        ("ja", "・・・そうか。"),
        ("ja", "○○さんが来た。"),
        ("ja", "３．１４だ。"),
        ("ja", "ｉｎｆｏ＠ｅｘａｍｐｌｅ．ｃｏ．ｊｐへ。"),
        ("de", "3. Oktober 1990"),
        ("cs", "3. května 1990"),
        ("ru", "— Привет! — сказал он."),
        ("en", "<b>1. One</b> of them"),
        ("en", "**1. One** of them"),
        ("en", "<i><b>1. </b>One</i> of them"),
        ("en", "<b>A. Smith</b> came"),
        ("en", "<i>1984</i> was cold"),
        ("en", "&lt;b&gt; is a tag"),
        ("en", "Neither 1) this nor - that * is a list"),
    ],
)
def test_what_only_looks_like_a_mark_is_translated(language: str, line: str) -> None:
    """Minus signs, emphasis, decimals, dates, dialogue, placeholders and the like are part of the sentence."""
    assert segmented(line, language).sentences == (line,)


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n\t\u3000", "🙂", "👩‍👩‍👧 🎉\n", "---\n\n* * *\n", "-\n1.\n# \n>", "→ ±", "\ufeff"),
        *(
            "2024-05-03\n10:30",
            "¥1,000",
            "-5",
            "１２３",
            "。",
            '"',
            "＊＊＊\n※\u3000※",
            "— — —",
            "ーーーー",
            "「……」\n「！？」",
        ),
        ">:(",
    ],
)
def test_nothing_to_translate(text: str) -> None:
    """Without a letter there is no sentence, and the text comes back as it is.

    This covers white space, emoji, rules, empty items, numbers, dates, amounts and punctuation, around which a model
    would make something up.
    """
    assert segmented(text) == Segmented((), (text,))


def test_emoji_on_a_line_of_its_own_stays_between_the_sentences() -> None:
    """Within a sentence, on the other hand, an emoji is part of it."""
    document = segmented("やった🙂。\n🎉\n本当だ。", "ja")
    assert document.sentences == ("やった🙂。", "本当だ。")
    assert document.join(["Done 🙂.", "Really."]) == "Done 🙂.\n🎉\nReally."


@pytest.mark.parametrize("aside", ["🎉", "😀 ", "★", "◇◆◇", "👨‍👩‍👧 ", "☀️", "→", "\u202b", "\u2066"])
def test_emoji_around_a_sentence_stay_where_they_are(aside: str) -> None:
    """Both before and after it; a model would drop them, or make something up."""
    found = split(f"{aside}彼は来た。{aside}\n彼女は{aside}帰った。", "ja", longest=1000, most=100)
    assert found.sentences == ("彼は来た。", f"彼女は{aside}帰った。")
    assert found.join(["He came.", "She left."], gap=" ") == f"{aside}He came.{aside}\nShe left."


def test_what_no_language_has_is_no_reason_to_refuse_a_text() -> None:
    """A base64 image, or an address of hundreds of characters, stays as it is, even in a table."""
    for long in ("![](data:image/png;base64," + "iVBORw0KGgo" * 60 + ")", "https://example.org/?q=" + "%E3%81%82" * 90):
        text = f"彼は来た。{long}\n| 名 | {long} |\n彼女は帰った。"
        found = split(text, "ja", longest=1000, most=100)
        assert found.sentences == ("彼は来た。", "名", "彼女は帰った。")
        assert found.join(found.sentences) == text


@pytest.mark.parametrize("sentence", ["−5度だった。", "〇〇寺は古い。", "○○寺は古い。", "≠は記号だ。"])
def test_signs_that_belong_to_a_sentence_are_part_of_it(sentence: str) -> None:
    """Such as arithmetic signs, or circles that stand for letters."""
    assert split(sentence, "ja", longest=1000, most=100).sentences == (sentence,)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("名前\t職業\t\t生年\n紫式部\t歌人\t\t973\n", ("名前", "職業", "生年", "紫式部", "歌人")),
        ("| 名前 | 説明 |\n|---|:-:|\n| 紫式部 | 歌人。女性。 |\n", ("名前", "説明", "紫式部", "歌人。", "女性。")),
        ("|彼  \t | \t 彼女\t|\t\t|  彼 等  |\n", ("彼", "彼女", "彼 等")),
        ("|彼 \\| 彼女|\n", ("彼", "彼女")),
        ("|彼は`A\\|B`|`A|B`\n", ("彼は`A\\|B`", "`A", "B`")),
        ("名前 | 職業\n--- | :-:\n紫式部 | 歌人\n\n彼|彼女\n", ("名前", "職業", "紫式部", "歌人", "彼|彼女")),
        ("彼|彼女\n---\n", ("彼|彼女",)),
        ("│彼　　│　彼女│\n├──┼──┤\n┃ 名 ┃\n", ("彼", "彼女", "名")),
        ("一章　寺…………12\n二章 城 . . . . . . ３", ("一章　寺", "二章 城")),
        ("彼は…………2人", ("彼は…………2人",)),
        ("彼|彼女\n", ("彼|彼女",)),
        ("- 一つ\t二つ", ("一つ", "二つ")),
    ],
)
def test_cells_are_texts_of_their_own(text: str, cells: tuple[str, ...]) -> None:
    """Tabs divide any line, and | those that begin with it or adjoin a rule; the separators stay where they are."""
    found = segmented(text, "ja")
    assert found.sentences == cells
    assert found.join(cells) == text
    assert found.join(["x"] * len(cells), gap=" ").count("\t") == text.count("\t")


@pytest.mark.parametrize(
    "run", [" ", " \t", "\u3000", "a", " |", "│", "> ", "…", "」", "-", "1.", "1.1-", "[1:", "…1", ". "]
)
@pytest.mark.parametrize("beginning", ["|a", "A", ""])
def test_no_run_of_characters_takes_long(beginning: str, run: str) -> None:
    """250,000 characters of the same: a body may have more, and while it is searched nobody else is served."""
    text = f"{beginning}{run * (250_000 // len(run))}b"
    document = segmented(text, most=10)
    assert document.join(document.sentences) == text


def test_white_space_stays_around_other_sentences() -> None:
    """Blank lines and indentation of the original are kept between the translations."""
    document = segmented("  一。\r\n\r\n\t・二。 三。\u2028", "ja")
    assert document.join(["One.", "Two.", "Three."]) == "  One.\r\n\r\n\t・Two. Three.\u2028"


def test_gap_where_the_original_has_none() -> None:
    """Japanese has nothing between sentences; English needs a space there, Chinese does not."""
    document = segmented("一。二。", "ja")
    assert document.join(["One.", "Two."], gap=sentence_gap_of("en")) == "One. Two."
    assert document.join(["一。", "二。"], gap=sentence_gap_of("zh-TW")) == "一。二。"


@pytest.mark.parametrize(
    ("text", "language", "target", "expected"),
    [
        ("One. Two.  Three.", "en", "ja", "一。二。三。"),
        ("One. Two.  Three.", "en", "de", "一。 二。  三。"),
        ("一。　二。三。", "ja", "en", "一。 二。 三。"),
        ("One. Two.  Three.", "en", "th", "一。 二。  三。"),
        ("一。二。三。", "ja", "th", "一。 二。 三。"),
        ("One.\tTwo.\n\nThree.", "en", "ja", "一。\t二。\n\n三。"),
        (" One. Two. Three. ", "en", "ja", " 一。二。三。 "),
        ("One.\u00a0Two. \u00a0Three.", "en", "ja", "一。二。三。"),
        ("One.\u2003Two.\u202fThree.", "en", "de", "一。 二。 三。"),
    ],
)
def test_spaces_are_those_of_the_target_language(text: str, language: str, target: str, expected: str) -> None:
    """Line breaks, tabs and white space around the whole text are preserved."""
    assert segmented(text, language).join(["一。", "二。", "三。"], gap=sentence_gap_of(target)) == expected


def test_lines_are_never_joined() -> None:
    """The end of a line ends a sentence, with or without a full stop."""
    assert segmented("A heading\nA line,\nand another.").sentences == ("A heading", "A line,", "and another.")


def test_what_comes_after_the_most_sentences_is_not_searched() -> None:
    """A document that will be refused costs no more than an allowed one; the rest becomes the last separator."""
    document = segmented("One. Two. Three. Four.", most=2)
    assert document == Segmented(("One.", "Two."), ("", " ", " Three. Four."))


@pytest.mark.parametrize(
    "line",
    [
        "WEBVTT",
        "\ufeffWEBVTT - 字幕",
        "2",
        "00:00:01,000 --> 00:00:02,500",
        "00:03.500 --> 00:05.000 align:start",
        "|---|:-:|",
        "-|-",
        "- - -",
        "=====",
        "https://example.com/a?b=c.d",
        "- www.example.com",
        "<br/>",
        '<p class="a">',
        "{name}: %s",
    ],
)
def test_lines_that_are_none_of_the_text_stay(line: str) -> None:
    """Numbers and times of subtitles, rules in tables and text, and lines for programs are not sentences."""
    text = f"{line}\n彼は帰った。\n\n{line}\n彼女も。\n"
    found = segmented(text, "ja")
    assert found.sentences == ("彼は帰った。", "彼女も。")
    assert found.join(found.sentences) == text


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("彼は京都に住む。彼女は帰った。", "ja", ("彼は京都に住む。", "彼女は帰った。")),
        ("Dr. Smith left. It was raining.", "en", ("Dr. Smith left. ", "It was raining.")),
        ("Yes\nNo", "en", ("Yes\n", "No")),
        ("「行った。もう帰る。」と言った。", "ja", ()),
        ("「行った。もう帰る。」", "ja", ("「行った。", "もう帰る。」")),
        ("彼は帰った。😀", "ja", ()),
        ("1. Hello", "en", ()),
        ("II. Hello", "en", ()),
        ("ア．一つ。", "ja", ()),
        ("", "en", ()),
    ],
)
def test_a_callers_sentence_may_be_several(text: str, language: str, expected: tuple[str, ...]) -> None:
    """If so, each is translated by itself; a single sentence has no parts, and a piece without words joins another."""
    assert parts(text, language) == expected


@given(text=TEXTS, language=st.sampled_from(LANGUAGES))
def test_parts_are_the_whole(text: str, language: str) -> None:
    """Parts make up the whole text, unless there are none, and each has words."""
    found = parts(text, language)
    assert "".join(found) == text or not found
    assert all(map(has_words, found))
