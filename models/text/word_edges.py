"""Word boundaries in a text, as far as the script shows them."""

import re
import unicodedata
from typing import Final

from models.text.words import MYRIADS

_IDEOGRAPH: Final = re.compile(r"[々〆\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_RUNS_ON: Final = re.compile(rf"{_IDEOGRAPH.pattern}|[ぁ-ゟ\u0e00-\u109f\u1780-\u17ff\uac00-\ud7af]")
"""Scripts that do not show where a word ends: Chinese characters, hiragana, Thai, Lao, Tibetan, Burmese, Khmer, and
Korean, whose particles are attached to words.
"""
_KATAKANA: Final = re.compile(r"[ァ-ヺー]")
_DIGIT: Final = "[0-9０-９]"
_IN_NUMBER: Final = re.compile(
    rf"(?<={_DIGIT}) (?: [.．]?+{_DIGIT} | [,，]{_DIGIT}{{3}} )"
    rf"| (?<={_DIGIT}[.．]) {_DIGIT} | (?<={_DIGIT}[,，]) {_DIGIT}{{3}} | (?<=[千천{MYRIADS}]) {_DIGIT}",
    re.VERBOSE,
)


def parts(text: str, at: int) -> bool:
    """Whether no word extends across a place of a text."""
    if at == 0 or at >= len(text):
        return True
    after = text[at]
    before, behind = kind_of(text[at - 1]), kind_of(after)
    if unicodedata.category(after)[0] == "M" or is_in_number(text, at):
        return False
    return before is None or before != behind


def is_in_number(text: str, at: int) -> bool:
    """Whether a number extends across a place of a text: 1,500, 2.5 and 1万2000 are one number each."""
    return _IN_NUMBER.match(text, at) is not None


def runs_on(text: str) -> bool:
    """Whether a text has characters of a script that does not show where a word ends."""
    return _RUNS_ON.search(text) is not None


def places_of(words: str, text: str) -> list[tuple[int, int]]:
    """Return where a text has some words, in any case, unless they may be part of other words."""
    found = [each.span() for each in re.finditer(re.escape(words), text, re.IGNORECASE)]
    return [
        (begin, end)
        for begin, end in found
        if all(parts(text, at) and not _among_ideographs(text, at) for at in (begin, end))
    ]


def kind_of(character: str) -> str | None:
    """Return the kind of words that a character can be part of; None if its script shows no word boundaries."""
    if _RUNS_ON.match(character):
        return None
    if _KATAKANA.match(character):
        return "katakana"
    return "letters" if unicodedata.category(character)[0] in "LMN" else None


def _among_ideographs(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(_IDEOGRAPH.match(each) for each in text[at - 1 : at + 1])
