"""Where words begin and end in a text, as far as that shows."""

import re
import unicodedata
from typing import Final

_IDEOGRAPH: Final = re.compile(r"[々〆\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_RUNS_ON: Final = re.compile(rf"{_IDEOGRAPH.pattern}|[ぁ-ゟ\u0e00-\u109f\u1780-\u17ff\uac00-\ud7af]")
"""Where nothing shows where a word ends: Chinese characters, hiragana, Thai, Lao, Tibetan, Burmese, Khmer, and Korean,
whose particles are written together with words.
"""
_KATAKANA: Final = re.compile(r"[ァ-ヺー]")


def parts(text: str, at: int) -> bool:
    """Whether no word goes on from before a place to behind it."""
    if at == 0 or at >= len(text):
        return True
    after = text[at]
    before, behind = kind_of(text[at - 1]), kind_of(after)
    return unicodedata.category(after)[0] != "M" and (before is None or before != behind)


def runs_on(text: str) -> bool:
    """Whether a text has something in which nothing shows where a word ends."""
    return _RUNS_ON.search(text) is not None


def places_of(words: str, text: str) -> list[tuple[int, int]]:
    """Where a text has some words, whatever their capitals, unless they may be part of other ones."""
    found = [each.span() for each in re.finditer(re.escape(words), text, re.IGNORECASE)]
    return [
        (begin, end)
        for begin, end in found
        if all(parts(text, at) and not _among_ideographs(text, at) for at in (begin, end))
    ]


def kind_of(character: str) -> str | None:
    """What a character may make up a word with; none where that does not show."""
    if _RUNS_ON.match(character):
        return None
    if _KATAKANA.match(character):
        return "katakana"
    return "letters" if unicodedata.category(character)[0] in "LMN" else None


def _among_ideographs(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(_IDEOGRAPH.match(each) for each in text[at - 1 : at + 1])
