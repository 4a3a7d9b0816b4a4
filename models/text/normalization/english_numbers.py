"""English numbers in words, as digits: a model that has read few of them makes 3,005 of 385."""

import re
from typing import Final

_ONES: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS: Final = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES: Final = {
    **{word: value for value, word in enumerate((*_ONES, *_TEENS), start=1)},
    "a": 1,
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
}
_ONE: Final = rf"(?:{'|'.join(_ONES)})\b"
_TEEN: Final = rf"(?:{'|'.join(_TEENS)})\b"
_TEN: Final = rf"(?:{'|'.join(_TENS)})\b"
_TENS_AND_ONES: Final = rf"{_TEN} (?: (?: - | (?-i:[ ](?=[a-z])) ) {_ONE} )?+"
"""Twenty One, without a hyphen, is a name."""
_BELOW_HUNDRED: Final = rf"(?: {_TENS_AND_ONES} | {_TEEN} | {_ONE} )"
_HUNDREDS: Final = rf"""
    (?: (?: {_ONE} | {_TEEN} ) [ -] hundred\b | a [ ] hundred (?= [ ] and [ ] {_BELOW_HUNDRED} ) )
    (?: (?:[ ]and)?+ [ ] {_BELOW_HUNDRED} )?+
"""
_BELOW_THOUSAND: Final = rf"(?: {_HUNDREDS} | {_BELOW_HUNDRED} )"
_LARGE: Final = r"(?: million | billion | trillion )\b"
_NUMBER: Final = re.compile(
    rf"""
    (?<! [\w.,/-] ) (?<! hundred [ ] ) (?<! hundred [ ] and [ ] ) (?<! thousand [ ] ) (?<! [mbtr]illion [ ] )
    (?:
        (?<! [\w,] [ ] or [ ] )                                                           # two or three hundred
        (?: (?P<thousands> {_BELOW_THOUSAND} ) [ ] thousand\b
              (?: ,?+ (?:[ ]and)?+ [ ] (?P<rest> {_BELOW_THOUSAND} ) (?! [ ] thousand ) )?+
          | (?P<of_millions> {_BELOW_THOUSAND} ) (?= [ ] {_LARGE} (?! [ ] (?:and[ ])?+ {_BELOW_HUNDRED} ) )
          | (?P<century> seventeen | eighteen | nineteen ) [ -] (?P<year> {_TENS_AND_ONES} )
          | (?P<hundreds> {_HUNDREDS} ) )
      | (?P<tens> (?! twenty\b (?![ -]{_ONE}) ) {_TENS_AND_ONES} (?! [ ] (?: hundred | thousand | {_LARGE} ) ) )
    )
    (?! - (?: {_TEN} | something | odd | first | second | third | [a-z]{{3,5}}th\b )
      | [ ] (?: and [ ] )?+ [a-z]{{3,7}}th\b
      | [ ] or [ ] (?: {_ONE} | {_BELOW_THOUSAND} [ ] (?: hundred | thousand | {_LARGE} ) ) )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""Numbers of which a model knows the words, up to twenty, only as parts of others."""
_PARTS: Final = (*_TENS, "hundred", "thousand", "illion")
"""One of them is in each of these numbers, and none in most texts."""


def english_in_digits(text: str) -> str:
    """Write numbers in digits: twenty-four as 24, two hundred and nine as 209, three million as 3 million."""
    small = text.lower()
    return _NUMBER.sub(_digits, text) if any(part in small for part in _PARTS) else text


def _digits(found: re.Match[str]) -> str:
    if _is_name(found):
        return found[0]
    if found["century"]:
        return str(100 * _value(found["century"]) + _value(found["year"]))
    if found["thousands"]:
        return f"{1000 * _value(found['thousands']) + _value(found['rest'] or ''):,}"
    return str(_value(found[0]))


def _is_name(found: re.Match[str]) -> bool:
    """Whether a number and the word behind it begin with capitals: Fifty Shades."""
    return found[0][0].isupper() and found.string[found.end() : found.end() + 2].strip()[:1].isupper()


def _value(number: str) -> int:
    """Return the value of a number below a thousand, or of several hundreds: twelve hundred."""
    value = 0
    for word in re.findall("[a-z]+", number.lower()):
        value = 100 * value if word == "hundred" else value + _VALUES.get(word, 0)
    return value
