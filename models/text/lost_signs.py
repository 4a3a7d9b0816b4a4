"""Signs that references of a training corpus have lost, or their sources, so that a model has learnt it as well."""

import re
from typing import Final

from models.text.markup import PLACE
from models.text.spacing import gap_of

_OPENS: Final = frozenset("「『“‘\"'«")
_MARK: Final = re.compile(r"(?:(?<=[\s(\[\"])|^)(?P<opens>')(?=\S)|(?<=\S)(?<!s)'(?!\w)|(?<=s)'(?![\w\s]|\Z)|(?<=s)'\Z")
"""A single one; no apostrophe: it's, emperors' tombs."""
_BACKSLASH: Final = re.compile(r"\\(?=[0-9])")
_DASH: Final = re.compile(rf"\A({PLACE.pattern}*+)- (?=.*\w)")
_DASHES: Final = frozenset("-‐–—―−ー・*•")


def with_opening_quote(translation: str, source: str, language: str) -> str:
    """Add a single quotation mark at the beginning, if the source has one there and too many are closed.

    Spreadsheets take such a mark for one of theirs, and do not show it: most references of the training corpus that
    began with one have lost it.

    Args:
        translation: may have placeholders for marks.
        source: what it is a translation of, without marks.
        language: the language of the translation.
    """
    bare = PLACE.sub("", translation)
    if not gap_of(language) or source[:1] not in _OPENS or bare[:1] in _OPENS:
        return translation
    closing = _never_opened(bare)
    if closing is None:
        return translation
    begin = 0
    while PLACE.match(translation, begin) and _end_of_pair(translation, begin) > closing:
        begin += 1
    return f"{translation[:begin]}'{translation[begin:]}"


def with_yen_sign(translation: str, source: str) -> str:
    """Write an amount of yen with its sign, which old Japanese character sets have in the place of the backslash."""
    return translation if "\\" in source else _BACKSLASH.sub("¥", translation)


def without_dash(translation: str, source: str) -> str:
    """Remove a dash, as before a point of a list, from the beginning of a translation whose source has none there.

    Of the training corpus, 3,510 Japanese lines have one that the English ones have not.

    Args:
        translation: may have placeholders for marks.
        source: what it is a translation of, without marks.
    """
    return translation if source[:1] in _DASHES else _DASH.sub(r"\1", translation)


def _never_opened(text: str) -> int | None:
    """Return where a text closes a quotation mark that it has not opened."""
    still_open = 0
    for found in _MARK.finditer(text):
        still_open += 1 if found["opens"] else -1
        if still_open < 0:
            return found.start()
    return None


def _end_of_pair(translation: str, begin: int) -> int:
    """Return where the pair of placeholders ends whose first one is at `begin`, not counting placeholders."""
    return len(PLACE.sub("", translation[: translation.find(chr(ord(translation[begin]) + 1))]))
