"""Temperatures: of 72°F a model makes 72°C, and of 華氏72度 72 degrees of the Ka clan. It knows 25°C."""

import re
from collections.abc import Iterator
from typing import Final

from models.text.glossary import Term

_AMOUNT: Final = r"(?<![\w.,:/$€£¥–~〜～-]) (?P<degrees> [-−]?+ [0-9]++ (?: ,[0-9]{3} (?![0-9]) )*+ (?: \.[0-9]++ )?+ )"
_FAHRENHEIT: Final = r"[ ]?+ (?: [°º] [ ]?+ F | ℉ )"
_ENGLISH: Final = re.compile(
    rf"{_AMOUNT} (?: {_FAHRENHEIT} | [ ] degrees [ ] Fahrenheit ) (?!\w)",
    re.VERBOSE | re.ASCII,
)
_JAPANESE: Final = re.compile(
    rf"""(?P<scale> 摂氏 | 華氏 ) (?P<on_scale> (?: [-−] | マイナス )?+ [0-9]++ (?: \.[0-9]++ )?+ ) 度
      | {_AMOUNT} {_FAHRENHEIT} (?!\w)""",
    re.VERBOSE | re.ASCII,
)


def english_temperatures(text: str) -> Iterator[Term]:
    """Yield the temperatures in Fahrenheit of an English text as terms that a Japanese translation has to say."""
    for found in _ENGLISH.finditer(text):
        degrees = found["degrees"]
        yield Term(found[0], f"華氏{degrees}度", tuple(_with_sign(degrees, "F", "℉")))


def japanese_temperatures(text: str) -> Iterator[Term]:
    """Yield the temperatures of a Japanese text, if with a scale, as terms that an English translation has to say."""
    for found in _JAPANESE.finditer(text):
        degrees = (found["on_scale"] or found["degrees"]).replace("マイナス", "-")
        if found["scale"] == "摂氏":  # the usual one, so English need not say it
            said = (f"{degrees} degree", *_with_sign(degrees, "C", "℃"))
            yield Term(found[0], f"{degrees} degrees Celsius", said)
        else:
            yield Term(found[0], f"{degrees} degrees Fahrenheit", tuple(_with_sign(degrees, "F", "℉")))


def _with_sign(degrees: str, letter: str, sign: str) -> Iterator[str]:
    for gap in ("", " "):
        yield from (f"{degrees}{gap}{each}" for each in (f"°{letter}", f"° {letter}", sign))
