"""Japanese years and ordinals that a model reads in digits: it knows no new era, and long numbers in kanji badly."""

import re
import unicodedata
from typing import Final

_ERAS: Final = {"明治": (1868, 45), "大正": (1912, 15), "昭和": (1926, 64), "平成": (1989, 31), "令和": (2019, 99)}
"""The first year of each, and how many years it has. Texts often give the year of an earlier one in brackets."""
_KANJI: Final = "一二三四五六七八九"
_TENS: Final = f"[{_KANJI[1:]}]?十[{_KANJI}]?"
_JAPANESE: Final = re.compile(
    rf"(?<!年[(（]) (?P<era>{'|'.join(_ERAS)}) (?P<year>元|[0-9０-９]{{1,2}}|{_TENS}|[{_KANJI}]) (?=年(?![間代(（]))"
    rf"| (?<![〇{_KANJI}十百千万]) (?P<western>[一二][〇{_KANJI}]{{3}}) (?=年)"
    rf"| (?<=第) (?P<ordinal>{_TENS}) (?=[条項号章節回代世番])",
    re.VERBOSE,
)
"""Not 昭和30年代, and not where the text has the year of both calendars: 昭和30年（1955年）."""


def in_digits(text: str) -> str:
    """Write Japanese years and ordinals in digits: 昭和三十二年 as 1957年, 一九五七年 as 1957年, 第十二条 as 第12条."""
    return _JAPANESE.sub(_digits, text) if "年" in text or "第" in text else text


def _digits(found: re.Match[str]) -> str:
    if found["western"]:
        return "".join(str(_KANJI.find(kanji) + 1) for kanji in found["western"])
    if found["ordinal"]:
        return str(_number(found["ordinal"]))
    first, years = _ERAS[found["era"]]
    year = _number(found["year"])
    return str(first + year - 1) if 1 <= year <= years else found[0]


def _number(said: str) -> int:
    if said == "元":
        return 1
    digits = unicodedata.normalize("NFKC", said)
    if digits.isdecimal():
        return int(digits)
    tens, ten, ones = said.rpartition("十")
    return 10 * (_KANJI.find(tens) + 1 if tens else len(ten)) + (_KANJI.find(ones) + 1 if ones else 0)
