"""Units in words: of 6 feet a model makes 六足, of 16ギガバイト 16 ginger bicycles.

Corpora of articles hardly have these. Units that models know (kilometers, grams) are left to them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from models.text.normalization.japanese_numbers import KANJI
from models.text.units import SMALL, names_of, said_with_unit


class Unit(NamedTuple):
    """How both languages say a unit; English in the singular, and without hyphens."""

    english: str
    japanese: str
    symbol: str = ""
    """What both may have instead, if it is one of `units.RARE`."""

    @property
    def plural(self) -> str:
        """Its English name behind other numbers than one."""
        *before, last = self.english.split(" ")
        return " ".join([*before, _PLURALS.get(last, last if last.endswith("hertz") else f"{last}s")])


_PLURALS: Final = {"foot": "feet", "inch": "inches"}
_SYMBOLS: Final = (
    *("B", "kB", "MB", "GB", "TB", "Hz", "kHz", "MHz", "GHz", "W", "kW", "MW", "GW", "kWh", "V", "kV", "A", "mA"),
    *("J", "kJ", "Pa", "hPa", "kPa", "MPa", "ms", "μs", "ns", "dB", "px", "Mpx", "mg", "mL", "μm", "nm"),
)
_OTHERS: Final = {
    "foot": "フィート",
    "inch": "インチ",
    "yard": "ヤード",
    "mile": "マイル",
    "square foot": "平方フィート",
    "square mile": "平方マイル",
    "acre": "エーカー",
    "cubic meter": "立方メートル",
    "cubic foot": "立方フィート",
    "micron": "ミクロン",
    "light year": "光年",
    "ounce": "オンス",
    "pound": "ポンド",
    "carat": "カラット",
    "gallon": "ガロン",
    "pint": "パイント",
    "quart": "クォート",
    "knot": "ノット",
    "lumen": "ルーメン",
    "bit": "ビット",
    "kilobit": "キロビット",
    "megabit": "メガビット",
    "gigabit": "ギガビット",
    "euro": "ユーロ",
    "cent": "セント",
    "peso": "ペソ",
    "franc": "フラン",
    "ruble": "ルーブル",
    "rupee": "ルピー",
    "baht": "バーツ",
    "yuan": "人民元",
}
UNITS: Final = (
    *(Unit(names_of(each, "en")[0].replace("-", " "), names_of(each, "ja")[0], each) for each in _SYMBOLS),
    *(Unit(english, japanese) for english, japanese in _OTHERS.items()),
)
_ABBREVIATED: Final = {
    "ft": "foot",
    "yd": "yard",
    "mi": "mile",
    "mph": "mile",
    "sq ft": "square foot",
    "oz": "ounce",
    "lb": "pound",
    "lbs": "pound",
    "gal": "gallon",
}
"""Of English; `in` is mostly another word. In a translation 5 min would begin like 5 mi."""
_ALSO: Final = {"mile": ("M",), "yuan": ("元",), "euro": ("€",)}
"""What Japanese may have as well."""
_IN_JAPANESE: Final = {each.japanese: each for each in UNITS}
_SINGULAR: Final = {each.english: each for each in UNITS}
_IN_ENGLISH: Final = (
    _SINGULAR
    | {each.plural: each for each in UNITS}
    | {short: _SINGULAR[english] for short, english in _ABBREVIATED.items()}
)


def _any_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(each).replace("\\ ", "[ -]") for each in sorted(names, key=len, reverse=True))


NAMED: Final = {
    "en": rf"""(?: (?: - | [ ] (?! foot\b [ ]?+ (?!deep|high|long|tall|wide) ) ) (?:{_any_of(_IN_ENGLISH)})
                 | (?:{_any_of(_ABBREVIATED)}) ) (?![A-Za-z0-9])""",
    "ja": rf"[ ]?+ (?:{_any_of(_IN_JAPANESE)}) (?![ァ-ヺー])",
}
"""A unit behind a number, by language, for a verbose expression. Foot soldiers are none."""


def with_unit_in_words(number: str, others: Iterable[str], unit: str, target: str) -> tuple[str, tuple[str, ...]]:
    """Return how English or Japanese says a number with a unit, and what else is right.

    Args:
        number: as the target language writes it.
        others: other ways to write it.
        unit: what was found behind it in the other language, by `NAMED`.
        target: "en" or "ja".
    """
    if target == "ja":
        found = _IN_ENGLISH[unit.strip(" -").replace("-", " ")]
        names = [found.japanese, *_ALSO.get(found.english, ()), *_abbreviations(found), found.symbol]
        digits = [KANJI[int(number) - 1]] if re.fullmatch("[1-9]", number) else []
        return f"{number}{names[0]}", tuple(said_with_unit([number, *others, *digits], names, target))
    found = _IN_JAPANESE[unit.strip()]
    names = [found.english, found.plural, found.english.replace(" ", "-"), found.symbol]
    said = tuple(said_with_unit([number, *others, *SMALL.get(number, ())], names, target))
    if number == "1":
        return f"1 {found.english}", (*said, found.english)  # 1マイル当たり is per mile
    return f"{number} {found.plural}", said


def _abbreviations(unit: Unit) -> Iterator[str]:
    yield from (short for short, english in _ABBREVIATED.items() if english == unit.english)
