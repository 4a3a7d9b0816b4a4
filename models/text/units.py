"""Units of measurement behind numbers, and how a translation may write them.

Corpora of articles hardly have most of them, and models make others of these: 10kW became 10kg, and 500ms 500 meters.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

USUAL: Final = r"(?: (?: [cdk]?m | k?g | [dk]?[lL] | cc | ha ) (?![A-Za-z0-9]) | [%％] )"
"""Models know these, if the number is read; without a space, so no word ends between the number and them."""
RARE: Final = r"""(?:
      [ ]?+ (?: [µμmn]m | [µμm]g | m[lL] | [nµμm]s | [kMG]?Hz | [kMGT]bit/s | [kKMG]?bps
              | (?: [kKMGT]B | [KMGT]iB ) (?:/s)?+ | [mkMG]W | k?Wh | [mkM]V | [mµμ]A | mAh | [hkM]?Pa | kJ | k?cal
              | dBm? | [JVW] | [dp]pi | fps | px | pt | [rb]pm | pp[mb] | lx )
    | [ADGK] ) (?![A-Za-z0-9])"""
"""Models make others of these; letters that may be a word or stand for a name only if there is no space: 4K, 5G, 3D."""
_PREFIXES: Final = {
    "en": {
        "G": "giga",
        "K": "kilo",
        "M": "mega",
        "T": "tera",
        "h": "hecto",
        "k": "kilo",
        "m": "milli",
        "n": "nano",
        "μ": "micro",
    },
    "ja": {
        "G": "ギガ",
        "K": "キロ",
        "M": "メガ",
        "T": "テラ",
        "h": "ヘクト",
        "k": "キロ",
        "m": "ミリ",
        "n": "ナノ",
        "μ": "マイクロ",
    },
}
_NAMES: Final = {
    "en": {
        "A": ["ampere"],
        "Ah": ["ampere-hour"],
        "B": ["byte"],
        "Hz": ["hertz"],
        "J": ["joule"],
        "L": ["liter", "litre"],
        "Pa": ["pascal"],
        "V": ["volt"],
        "W": ["watt"],
        "Wh": ["watt-hour", "watt hour"],
        "cal": ["calorie"],
        "dB": ["decibel"],
        "fps": ["frames per second"],
        "g": ["gram"],
        "kcal": ["kilocalorie", "calorie"],
        "l": ["liter", "litre"],
        "m": ["meter", "metre"],
        "pt": ["point"],
        "px": ["pixel"],
        "rpm": ["revolutions per minute"],
        "s": ["second"],
    },
    "ja": {
        "A": ["アンペア"],
        "Ah": ["アンペア時"],
        "B": ["バイト"],
        "Hz": ["ヘルツ"],
        "J": ["ジュール"],
        "L": ["リットル"],
        "Pa": ["パスカル"],
        "V": ["ボルト"],
        "W": ["ワット"],
        "Wh": ["ワット時"],
        "cal": ["カロリー"],
        "dB": ["デシベル"],
        "fps": ["フレーム"],
        "g": ["グラム"],
        "kcal": ["キロカロリー", "カロリー"],
        "l": ["リットル"],
        "m": ["メートル"],
        "mm": ["ミリメートル", "ミリ"],
        "pt": ["ポイント"],
        "px": ["ピクセル", "画素"],
        "rpm": ["回転"],
        "s": ["秒"],
    },
}
"""With what people call them as well."""
SMALL: Final = {"1": ("one", "a"), "100": ("one hundred", "a hundred")} | {
    f"{digits}": (word,)
    for digits, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
}
"""Numbers that English writes in words, before units and before a million."""
_BETWEEN: Final = {"en": (" ", "", "-"), "ja": ("", " ")}


def has_names(language: str) -> bool:
    """Return whether it is known how a language says the units that models make others of."""
    return language in _NAMES


def with_unit(number: str, unit: str, gap: str) -> str:
    """Return a number and its unit, with what separates words; 5V and 4K need no space in any language."""
    return f"{number}{gap if len(unit) > 1 else ''}{unit}"


def said_with_unit(numbers: Iterable[str], units: Sequence[str], language: str) -> Iterator[str]:
    """Yield how a language may write a number, in one of these forms, and its unit, by one of these names."""
    for number in numbers:
        yield from (f"{number}{gap}{unit}" for gap in _BETWEEN.get(language, ("", " ")) for unit in units if unit)


def names_of(unit: str, language: str) -> list[str]:
    """Return the names of a unit in a language, the most usual one first; English ones are in the singular."""
    names = _NAMES.get(language, {})
    if unit in names:
        return names[unit]
    prefix = _PREFIXES.get(language, {}).get(unit[0])
    return [f"{prefix}{name}" for name in names.get(unit[1:], [])] if prefix else []
