"""Circled numbers, in brackets."""

import unicodedata

import pytest

from models.text.normalization.circled_numbers import in_brackets


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("①会員、②非会員", "(1)会員、(2)非会員"),
        ("⑳㉑㉟㊱㊿", "(20)(21)(35)(36)(50)"),
        ("❶❿⓫⓴", "(1)(10)(11)(20)"),
        ("１、(2)、㊗、⓪", "１、(2)、㊗、⓪"),
    ],
)
def test_circled_numbers_are_in_brackets(text: str, said: str) -> None:
    """Without a circle, ①会員 would be one member."""
    assert in_brackets(text) == said


def test_each_is_its_number() -> None:
    """Unicode knows which number each is."""
    circled = [chr(code) for code in range(0x2460, 0x32FF) if "CIRCLED" in unicodedata.name(chr(code), "")]
    numbers = [each for each in circled if "NUMBER" in unicodedata.name(each) or "DIGIT" in unicodedata.name(each)]
    changed = [each for each in numbers if in_brackets(each) != each]
    assert len(changed) == 70
    assert [in_brackets(each) for each in changed] == [f"({unicodedata.numeric(each):.0f})" for each in changed]
