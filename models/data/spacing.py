"""What stands between two sentences, or two clauses, of a language."""

import re
from typing import Final

_WITHOUT_SPACES: Final = frozenset({"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"})


def primary(language: str) -> str:
    """The ISO 639 code of a language whose name may say a script or region, too."""
    return re.split("[-_]", language.lower())[0]


def gap_of(language: str) -> str:
    """A space, or nothing where the language is written without."""
    return "" if primary(language) in _WITHOUT_SPACES else " "


def in_place_of_line_break(gap: str, before: str, after: str) -> str:
    """What stands there on one line: a language's gap, but Latin words are apart in any language.

    Args:
        gap: of the language, from `gap_of`.
        before: the character before the line break.
        after: the one behind it.
    """
    return gap or " " * all(each.isascii() and each.isalnum() for each in (before, after))
