"""What a model reads in digits, as it has seen most of it: numbers in words, and Japanese years."""

from collections.abc import Callable

from models.text.english_numbers import english_in_digits
from models.text.japanese_numbers import japanese_in_digits
from models.text.japanese_years import years_in_digits
from models.text.spacing import primary

_WRITE_DIGITS = frozenset({"ja", "ko", "yue", "zh"})
"""Languages that write the numbers in digits that English writes in words: 24歳, but vierundzwanzig Jahre."""


def digits_for(source: str, target: str) -> Callable[[str], str]:
    """Return what writes the numbers of a text in digits where a translation, in the language `target`, does, too."""
    if primary(source) == "ja":
        return _from_japanese
    return english_in_digits if primary(source) == "en" and primary(target) in _WRITE_DIGITS else str


def _from_japanese(text: str) -> str:
    return japanese_in_digits(years_in_digits(text))
