"""Widths of characters: Ａ and A, ﾃﾞｰﾀ and データ are the same to people, and to SentencePiece, which reads no other.

So numbers, addresses and terms are looked for in texts of one width.
"""

import re
import unicodedata
from typing import Final

_ALNUM: Final = "[０-９Ａ-Ｚａ-ｚ]"
_WIDE: Final = re.compile(
    rf"{_ALNUM}++ (?: [．，：／＠－＿＋＝＆]{{1,3}}+ {_ALNUM}++ )*+ ／?+ | ￥ (?=[0-9０-９])", re.VERBOSE
)
"""Other punctuation only within a word or number: at its end it may be that of the sentence."""
_OFFSET: Final = ord("！") - ord("!")
_NARROW: Final = {code: code - _OFFSET for code in range(ord("！"), ord("～") + 1)} | {ord("￥"): "¥"}
_COMPATIBLE: Final = re.compile("[ｦ-ﾟ]++|[Ⅰ-Ⅻⅰ-ⅻ㌀-㍗㎀-㎞㎩-㏟]")
"""Half-width katakana, Roman numerals, and units in one character, but not ㎡: as m2 it would not be one any more."""


def has_wide(text: str) -> bool:
    """Whether there are full-width letters or digits of ASCII."""
    return not text.isascii() and _WIDE.search(text) is not None


def narrowed(text: str) -> str:
    """Write the full-width letters and digits of ASCII in half width; the text's length stays the same."""
    return text if text.isascii() else _WIDE.sub(lambda found: found[0].translate(_NARROW), text)


def composed(text: str) -> str:
    """Compose a text's characters (NFC), with usual letters for half-width katakana, Roman numerals and units."""
    if text.isascii():
        return text
    return _COMPATIBLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), unicodedata.normalize("NFC", text))
