"""English numbers in words."""

import pytest

from models.text.normalization.english_numbers import english_in_digits


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("He is twenty-four. Thirty people, ninety years.", "He is 24. 30 people, 90 years."),
        ("two hundred and nine temples, three hundred thirty-one", "209 temples, 331"),
        ("twelve hundred, a hundred and twenty, one hundred", "1200, 120, 100"),
        ("thirty-five thousand, one thousand two hundred and thirty-four", "35,000, 1,234"),
        ("one hundred twenty-five thousand, three hundred; two thousand and five", "125,300; 2,005"),
        ("three million, sixty-five billion yen", "3 million, 65 billion yen"),
        ("In nineteen sixty-four and eighteen-ninety", "In 1964 and 1890"),
        ("a twenty-one-year-old, forty to fifty days, twenty five minutes", "a 21-year-old, 40 to 50 days, 25 minutes"),
        *((text, text) for text in ("one of ten, nineteen or twenty", "a hundred years", "hundreds of them")),
        *((text, text) for text in ("two or three hundred", "thirty or forty thousand", "several hundred and fifty")),
        *((text, text) for text in ("the twenty-first", "one hundred and thirtieth", "a thirty-second rule")),
        *(
            (text, text)
            for text in ("Twenty One Pilots", "Fifty Shades", "thirty-something", "fifty-fifty", "her fifties")
        ),
        *((text, text) for text in ("five million three hundred thousand", "catch-twenty-two", "twenty one or two")),
    ],
)
def test_what_is_read_in_digits(text: str, read: str) -> None:
    """Numbers above twenty, unless they are part of a name, of an ordinal, or of another number."""
    assert english_in_digits(text) == read


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("one ", "twenty-", "twenty ", "hundred ", "one hundred and ", "a hundred ", "million ", "nineteen "):
        english_in_digits(piece * (500_000 // len(piece)))
