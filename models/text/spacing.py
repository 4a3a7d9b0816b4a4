"""The separators between words, sentences or clauses of a language."""

import re
from typing import Final

_RUNS_ON: Final = frozenset({"ja", "yue", "zh"})
_WITHOUT_SPACES: Final = _RUNS_ON | {"bo", "dz", "km", "lo", "my", "th"}
"""Languages without spaces between words: a Thai sentence ends with a space, and often with nothing else."""
_ENDS_WORDS: Final = frozenset(".,;:!?)")


def primary(language: str) -> str:
    """Return the ISO 639 code of a language tag, without script and region."""
    return re.split("[-_]", language.lower())[0]


def gap_of(language: str) -> str:
    """Return what separates two words: a space, or nothing where the language is written without."""
    return "" if primary(language) in _WITHOUT_SPACES else " "


def sentence_gap_of(language: str) -> str:
    """Return what separates two sentences or clauses: a space, or nothing where only a mark ends one."""
    return "" if primary(language) in _RUNS_ON else " "


def in_place_of_line_break(gap: str, before: str, after: str) -> str:
    """Return the replacement of a line break: a language's gap, but a space between Latin words in any language.

    Args:
        gap: gap of the language, from `gap_of`.
        before: the character before the line break.
        after: the character after it.
    """
    are_latin = before.isascii() and after.isascii() and after.isalnum()
    return gap or " " * (are_latin and (before.isalnum() or (before in _ENDS_WORDS and after.isalpha())))
