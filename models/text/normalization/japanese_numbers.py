"""Japanese numbers in kanji, as digits: a model that has seen few of them makes the eighth of 二十八日."""

import re
from typing import Final

KANJI: Final = "一二三四五六七八九"
"""The digits from one on."""
_MANY: Final = f"[{KANJI[1:]}]"
_BELOW_MYRIAD: Final = rf"(?: {_MANY}?+千 )?+ (?: {_MANY}?+百 )?+ (?: {_MANY}?+十 )?+ [{KANJI}]?+"
_NUMBER: Final = rf"""
    (?:
        (?: (?=[{KANJI}十百千]) {_BELOW_MYRIAD} [万億兆] )++ (?: {_BELOW_MYRIAD} )
      | [{KANJI}] (?= [{KANJI}]{{0,2}}〇 ) [〇{KANJI}]{{1,3}}+
      | (?= [{KANJI}十百千]{{2}} ) {_BELOW_MYRIAD}
      | [{KANJI}十] (?= 月 [{KANJI}十]{{1,3}} 日 ) | (?<=月) [{KANJI}十] (?=日)
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
_IN_A_NUMBER: Final = rf"(?<= [〇{KANJI}十百千万億兆数何幾\d] ) | (?<= [{KANJI}十百千万億兆\d] [、，・\s] )"
"""Behind other digits, or as the second of two numbers: 二、三十人 are twenty or thirty."""
_COUNTED: Final = re.compile(f"(?! {_IN_A_NUMBER} | {_OF_A_NAME} ) {_NUMBER} (?= {_COUNTER} )", re.VERBOSE)
_SIGNS: Final = frozenset("月十百千万億兆〇")
"""One of them is in each of these numbers, and none in most texts."""
_POWERS: Final = {"十": 10, "百": 100, "千": 1000}


def japanese_in_digits(text: str) -> str:
    """Write numbers of what is counted in digits: 二十五人 as 25人, 三億円 as 3億円, 二月十日 as 2月10日."""
    return text if _SIGNS.isdisjoint(text) else _COUNTED.sub(_digits, text)


def _digits(found: re.Match[str]) -> str:
    return re.sub("[^万億兆]+", _part, found[0])


def _part(part: re.Match[str]) -> str:
    """Write a number, or what it has of myriads: of 三億五千万, 三 as 3 and 五千 as 5000."""
    return in_places(part[0]) if "〇" in part[0] else str(value_of(part[0]))


def in_places(said: str) -> str:
    """Write a number digit by digit: 二〇 as 20."""
    return "".join(str(KANJI.find(kanji) + 1) for kanji in said)


def value_of(said: str) -> int:
    """Return the value of a number below a myriad."""
    value = digit = 0
    for kanji in said:
        if kanji in _POWERS:
            value, digit = value + (digit or 1) * _POWERS[kanji], 0
        else:
            digit = KANJI.index(kanji) + 1
    return value + digit
