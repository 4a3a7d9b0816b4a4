"""Text into sentences and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.segmentation import Segmented, gap_of, split


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("ja", "紫式部は宮廷に仕えた。源氏物語を書いた。", ["紫式部は宮廷に仕えた。", "源氏物語を書いた。"]),
        ("ja", "本当か？！信じられない。", ["本当か？！", "信じられない。"]),
        ("ja", "「行く。」と彼は言った。帰った。", ["「行く。」と彼は言った。", "帰った。"]),
        ("ja", "「行く。」彼は言った。", ["「行く。」", "彼は言った。"]),
        ("en", "Dr. Smith came. He sat down!", ["Dr. Smith came.", "He sat down!"]),
        ("en", "1. First item.\n2. Second item.", ["1. First item.", "2. Second item."]),
        ("de", "Er kam, z. B. gestern. Sie ging.", ["Er kam, z. B. gestern.", "Sie ging."]),
        ("ja", "見出し\n\n　本文。", ["見出し", "本文。"]),
        ("en", " \n\t ", []),
        ("en", "", []),
    ],
)
def test_sentences(language: str, text: str, sentences: list[str]) -> None:
    """Sentences end where a reader of the language sees their end, and at the end of a line."""
    assert list(split(text, language, longest=100).sentences) == sentences


@given(text=st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("。.!? \n\t　」「と1"))))
def test_joining_what_was_split_gives_the_text(text: str) -> None:
    """No character is lost, added or moved, whatever the text."""
    for language in ("ja", "en"):
        document = split(text, language, longest=10)
        assert document.join(document.sentences) == text
        assert all(sentence and sentence == sentence.strip() for sentence in document.sentences)


def test_white_space_stays_around_other_sentences() -> None:
    """Blank lines and indentation of the original stand between the translations."""
    document = split("  一。\n\n\t二。 三。\n", "ja", longest=100)
    assert document.join(["One.", "Two.", "Three."]) == "  One.\n\n\tTwo. Three.\n"


def test_gap_where_the_original_has_none() -> None:
    """Japanese puts nothing between sentences; English needs a space there, Chinese does not."""
    document = split("一。二。", "ja", longest=100)
    assert document.join(["One.", "Two."], gap=gap_of("en")) == "One. Two."
    assert document.join(["一。", "二。"], gap=gap_of("zh-TW")) == "一。二。"


def test_long_line_is_searched_in_windows() -> None:
    """Boundaries in a line of many times the window are the same as in a short one."""
    sentence = "彼女は京都に生まれた。"
    assert split(sentence * 500, "ja", longest=50).sentences == (sentence,) * 500


def test_line_without_boundary_is_cut() -> None:
    """What never ends comes in parts that are longer than a sentence may be, and nothing is lost."""
    document = split("あ" * 350, "ja", longest=50)
    assert "".join(document.sentences) == "あ" * 350
    assert max(map(len, document.sentences)) > 50


def test_no_sentences_no_text() -> None:
    """A document without sentences has its white space only."""
    assert Segmented((), (" ",)).join([]) == " "
