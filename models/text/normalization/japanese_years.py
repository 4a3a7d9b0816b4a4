"""Japanese years and ordinals, as digits: models know no new era, and long numbers in kanji badly."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from models.text.normalization.japanese_numbers import KANJI, in_places, value_of

_ERAS: Final = {"明治": (1868, 45), "大正": (1912, 15), "昭和": (1926, 64), "平成": (1989, 31), "令和": (2019, 99)} | {
    "M": (1868, 45),
    "T": (1912, 15),
    "S": (1926, 64),
    "H": (1989, 31),
    "R": (2019, 99),
}
"""The first year of each, and how many years it has. Texts often give the year of an earlier one in brackets."""
_TENS: Final = f"[{KANJI[1:]}]?十[{KANJI}]?"
_YEAR: Final = f"[0-9０-９]{{1,2}}|{_TENS}|[{KANJI}]"
_JAPANESE: Final = re.compile(
    rf"(?<!年[(（]) (?<![A-Za-z]) (?P<era>{'|'.join(_ERAS)}) (?P<year>元|{_YEAR}) (?=年(?![間代(（]))"
    rf"| (?<![〇{KANJI}十百千万]) (?P<western>[一二][〇{KANJI}]{{3}}) (?=年)"
    rf"| (?<=第) (?P<ordinal>{_TENS}) (?=[条項号章節回代世番])"
    rf"| 同 (?P<same>{_YEAR}) (?=年(?![間後前]))"
    rf"| (?P<later> (?: (?<=翌) | (?<=[年月日度][～〜・-]) ) (?:{_YEAR}) (?=年(?![間後前]))"
    rf"  | (?<=、) (?:{_YEAR}) (?=年に(?![わ渡及一1１]))"
    rf"  | (?<=[ら～〜]) (?:{_YEAR}) (?=年(?:まで|にかけて))"
    rf"  | (?<![0-9０-９{KANJI}十百千第]) (?:{_YEAR}) (?=年(?:度|[0-9０-９{KANJI}十]{{1,2}}月)) )",
    re.VERBOSE,
)
"""Not 昭和30年代, and not where the text has the year of both calendars: 昭和30年（1955年）."""


def years_in_digits(text: str) -> str:
    """Write Japanese years and ordinals in digits: 昭和三十二年, S32年 and 一九五七年 as 1957年, 第十二条 as 第12条.

    A later year of the same era may be without it: 昭和20年8月から21年3月まで is 1945年8月から1946年3月まで.
    """
    return _JAPANESE.sub(_Digits(), text) if "年" in text or "第" in text else text


@dataclass(slots=True)
class _Digits:
    """What is written for years and ordinals of a text, in its order."""

    era: str = ""
    """The era of the last year that had one."""
    year: int = 0
    """The last year of that era."""

    def __call__(self, found: re.Match[str]) -> str:
        if found["western"]:
            return in_places(found["western"])
        if found["ordinal"]:
            return str(_number(found["ordinal"]))
        era, year = found["era"] or self.era, _number(found["year"] or found["same"] or found["later"])
        first, years = _ERAS.get(era, (0, 0))
        if not (1 if found["era"] else self.year) <= year <= years:
            return found[0]
        self.era, self.year = era, year
        return str(first + year - 1)


def _number(said: str) -> int:
    if said == "元":
        return 1
    digits = unicodedata.normalize("NFKC", said)
    return int(digits) if digits.isdecimal() else value_of(said)
