"""Japanese numbers in kanji, and years of eras, as digits: a model that has seen few makes 二十八日 the eighth."""

import re
import unicodedata
from typing import Final

_ERAS: Final = {"明治": (1868, 45), "大正": (1912, 15), "昭和": (1926, 64), "平成": (1989, 31), "令和": (2019, 99)}
"""The first year of each, and how many years it has. Texts often give the year of an earlier one in brackets."""
_KANJI: Final = "一二三四五六七八九"
_MANY: Final = f"[{_KANJI[1:]}]"
_TENS: Final = f"{_MANY}?十[{_KANJI}]?"
_BELOW_MYRIAD: Final = rf"(?: {_MANY}?+千 )?+ (?: {_MANY}?+百 )?+ (?: {_MANY}?+十 )?+ [{_KANJI}]?+"
_NUMBER: Final = rf"""
    (?:
        (?: (?=[{_KANJI}十百千]) {_BELOW_MYRIAD} [万億兆] )++ (?: {_BELOW_MYRIAD} )
      | [{_KANJI}] (?= [{_KANJI}]{{0,2}}〇 ) [〇{_KANJI}]{{1,3}}+
      | (?= [{_KANJI}十百千]{{2}} ) {_BELOW_MYRIAD}
      | [{_KANJI}十] (?= 月 [{_KANJI}十]{{1,3}} 日 ) | (?<=月) [{_KANJI}十] (?=日)
    )
"""
"""At least two characters, but in dates: 一人 or 十分 may be other words. 二三人 are two or three."""
_COUNTER: Final = r"""
    (?: [人名](?![一-龠]) | (?<=十) 代 | [才月秒本冊枚個件巻軒戸頭匹台点票倍円校％] | 歳(?!神) | 日(?!忌) | 年(?!忌)
      | 分(?![のけに]) | 時(?!中) | 回(?!忌) | 階(?!制) | 度(?![々も]) | 週間 | 世紀 | 周年 | 番目 | 丁目 | 番地
      | [ヶヵケカか] [月国年所] | 箇 [月国年] | パーセント | [平立] 方 | メートル | キロ | センチ | ミリ | グラム | トン
      | ドル | ユーロ | ポンド | ページ )
"""
"""What is counted or measured in; before other words numbers are often part of a name, as in 三十三間堂."""
_OF_A_NAME: Final = r"(?<= 冠位 ) | 四十九日 | (?: 三十三 | 八十八 ) [ヶヵケカか] 所"
_IN_A_NUMBER: Final = rf"(?<= [〇{_KANJI}十百千万億兆数何幾\d] ) | (?<= [{_KANJI}十百千万億兆\d] [、，・\s] )"
"""Behind other digits, or as the second of two numbers: 二、三十人 are twenty or thirty."""
_JAPANESE: Final = re.compile(
    rf"""
      (?<! 年[(（] ) (?P<era> {"|".join(_ERAS)} ) (?P<year> 元 | [0-9０-９]{{1,2}} | {_TENS} | [{_KANJI}] )
        (?= 年 (?![間代(（]) )
    | (?<! [〇{_KANJI}十百千万] ) (?P<western> [一二] [〇{_KANJI}]{{3}} ) (?=年)
    | (?<=第) (?P<ordinal> {_TENS} ) (?= [条項号章節回代世番] )
    | (?! {_IN_A_NUMBER} | {_OF_A_NAME} ) (?P<counted> {_NUMBER} ) (?= {_COUNTER} )
    """,
    re.VERBOSE,
)
"""Not 昭和30年代, and not where the text has the year of both calendars: 昭和30年（1955年）."""
_SIGNS: Final = frozenset("年第月十百千万億兆〇")
"""One of them is in each of these, and none in most texts."""
_POWERS: Final = {"十": 10, "百": 100, "千": 1000}


def japanese_in_digits(text: str) -> str:
    """Write years, ordinals and what is counted in digits: 昭和三十年 as 1955年, 第十条 as 第10条, 三十人 as 30人."""
    return text if _SIGNS.isdisjoint(text) else _JAPANESE.sub(_digits, text)


def _digits(found: re.Match[str]) -> str:
    if found["western"]:
        return _in_places(found["western"])
    if found["counted"]:
        return re.sub("[^万億兆]+", _counted, found["counted"])
    if found["ordinal"]:
        return str(_number(found["ordinal"]))
    first, years = _ERAS[found["era"]]
    year = _number(found["year"])
    return str(first + year - 1) if 1 <= year <= years else found[0]


def _counted(part: re.Match[str]) -> str:
    """Write a number, or what it has of myriads: of 三億五千万, 三 as 3 and 五千 as 5000."""
    return _in_places(part[0]) if "〇" in part[0] else str(_number(part[0]))


def _in_places(said: str) -> str:
    """Write a number digit by digit: 二〇 as 20."""
    return "".join(str(_KANJI.find(kanji) + 1) for kanji in said)


def _number(said: str) -> int:
    """Return the value of a number below a myriad, in kanji or digits."""
    if said == "元":
        return 1
    digits = unicodedata.normalize("NFKC", said)
    if digits.isdecimal():
        return int(digits)
    value = digit = 0
    for kanji in said:
        if kanji in _POWERS:
            value, digit = value + (digit or 1) * _POWERS[kanji], 0
        else:
            digit = _KANJI.index(kanji) + 1
    return value + digit
