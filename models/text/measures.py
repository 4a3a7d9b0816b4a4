"""Measures whose units are words: of 6 feet a model makes 六足, of 16ギガバイト 16 ginger bicycles.

Corpora of articles hardly have these units. Those that models know (kilometers, grams) are left to them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from models.text.glossary import Term
from models.text.normalization.japanese_numbers import KANJI
from models.text.units import SMALL, names_of, said_with_unit


@dataclass(frozen=True, slots=True)
class _Unit:
    """How two languages say a unit, the most usual name first; English names are in the singular."""

    english: tuple[str, ...]
    japanese: str
    abbreviated: tuple[str, ...] = ()
    """What Japanese may have instead."""
    symbol: tuple[str, ...] = ()
    """What both may have instead, if it is one of `units.RARE`; other abbreviations begin like words: 5 mi, 5 min."""


_SYMBOLS: Final = (
    *("B", "kB", "MB", "GB", "TB", "Hz", "kHz", "MHz", "GHz", "W", "kW", "MW", "GW", "kWh", "V", "kV", "A", "mA"),
    *("J", "kJ", "Pa", "hPa", "kPa", "MPa", "ms", "μs", "ns", "dB", "px", "Mpx"),
)
_UNITS: Final = (
    *(_Unit(tuple(names_of(each, "en")), names_of(each, "ja")[0], symbol=(each,)) for each in _SYMBOLS),
    _Unit(("foot", "feet"), "フィート", ("ft",)),
    _Unit(("inch",), "インチ"),  # `in` is mostly another word
    _Unit(("yard",), "ヤード", ("yd",)),
    _Unit(("mile",), "マイル", ("mi", "M", "mph")),
    _Unit(("ounce",), "オンス", ("oz",)),
    _Unit(("pound",), "ポンド", ("lb",)),
    _Unit(("gallon",), "ガロン", ("gal",)),
    _Unit(("acre",), "エーカー"),
    _Unit(("euro",), "ユーロ", ("€",)),
)
_ABBREVIATED: Final = {short: each for each in _UNITS for short in each.abbreviated if short.islower()}
_ENGLISH_NAMES: Final = {name: each for each in _UNITS for name in each.english} | _ABBREVIATED
_JAPANESE_NAMES: Final = {each.japanese: each for each in _UNITS}
_PLURALS: Final = {"foot": "feet", "inch": "inches"}
_KANJI: Final = {f"{digit}": (kanji,) for digit, kanji in enumerate(KANJI, start=1)}
_SIGN: Final = re.compile("[-–~〜～]")
AMOUNT: Final = r"[0-9]++ (?: ,[0-9]{3} (?![0-9]) )*+ (?: \.[0-9]++ )?+"
_AMOUNTS: Final = rf"(?P<number> {AMOUNT} (?: {_SIGN.pattern} {AMOUNT} )?+ )"
"""One, or a range."""
BEFORE_ENGLISH: Final = r"(?<![\w.,:/$€£¥–~-])"
BEFORE_JAPANESE: Final = rf"(?<![\w.,:/–~〜～{KANJI}十百千万億-])"


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_ENGLISH: Final = re.compile(
    rf"""{BEFORE_ENGLISH} {_AMOUNTS}
    (?: - | [ ] (?! foot\b [ ]?+ (?!deep|high|long|tall|wide) ) | (?={_any_of(_ABBREVIATED)}) )  # not 16 foot soldiers
    (?P<unit> {_any_of(_ENGLISH_NAMES)} ) (?:e?s)?+ (?!\w)""",
    re.VERBOSE | re.ASCII,
)
_JAPANESE: Final = re.compile(
    rf"{BEFORE_JAPANESE} {_AMOUNTS} [ ]?+ (?P<unit> {_any_of(_JAPANESE_NAMES)} ) (?![ァ-ヺー])", re.VERBOSE | re.ASCII
)


def english_measures(text: str) -> Iterator[Term]:
    """Yield the measures of an English text as terms that a Japanese translation has to say."""
    for found in _ENGLISH.finditer(text):
        number, unit = found["number"], _ENGLISH_NAMES[found["unit"]]
        said = said_with_unit(
            [*_forms(number), *_KANJI.get(number, ())], (unit.japanese, *unit.abbreviated, *unit.symbol), "ja"
        )
        yield Term(found[0], f"{number}{unit.japanese}", tuple(said))


def japanese_measures(text: str) -> Iterator[Term]:
    """Yield the measures of a Japanese text as terms that an English translation has to say."""
    for found in _JAPANESE.finditer(text):
        number, unit = found["number"], _JAPANESE_NAMES[found["unit"]]
        name = unit.english[0]
        said = said_with_unit([*_forms(number), *SMALL.get(number, ())], (*unit.english, *unit.symbol), "en")
        if number == "1":
            yield Term(found[0], f"1 {name}", (*said, name))  # 1マイル当たり is per mile
        else:
            yield Term(found[0], f"{number} {_plural(name)}", tuple(said))


def _plural(name: str) -> str:
    return name if name.endswith("hertz") else _PLURALS.get(name, f"{name}s")


def _forms(number: str) -> Iterator[str]:
    """Yield how a number or a range may be written."""
    for sign in "-–~～〜" if _SIGN.search(number) else ("",):
        said = _SIGN.sub(sign, number)
        yield from dict.fromkeys((said, said.replace(",", "")))
