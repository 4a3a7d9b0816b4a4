"""The normalization of a language, as far as it is good for translations into another one."""

from collections.abc import Callable
from typing import Final

from models.text.normalization.circled_numbers import in_brackets
from models.text.normalization.english_dates import dates_in_full
from models.text.normalization.english_numbers import english_in_digits
from models.text.normalization.english_times import ranges_in_full
from models.text.normalization.japanese_companies import companies_in_full
from models.text.normalization.japanese_numbers import japanese_in_digits
from models.text.normalization.japanese_spacing import closed_up
from models.text.normalization.japanese_times import times_apart
from models.text.normalization.japanese_years import years_in_digits
from models.text.spacing import primary

_WRITE_DIGITS: Final = frozenset({"ja", "ko", "yue", "zh"})
"""Languages that write the numbers in digits that English writes in words: 24歳, but vierundzwanzig Jahre."""


def normalizer_for(source: str, target: str) -> Callable[[str], str]:
    """Return what normalizes texts of a language that are translated into another one; both are ISO 639 codes."""
    if primary(source) == "ja":
        return _of_japanese
    if primary(source) == "en":
        return _of_english_for_digits if primary(target) in _WRITE_DIGITS else dates_in_full
    return str


def _of_japanese(text: str) -> str:
    return times_apart(companies_in_full(in_brackets(japanese_in_digits(years_in_digits(closed_up(text))))))


def _of_english_for_digits(text: str) -> str:
    return ranges_in_full(english_in_digits(dates_in_full(text)))
