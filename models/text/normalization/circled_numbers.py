"""Circled numbers in brackets: SentencePiece reads ①会員 as 1会員, which is one member."""

from typing import Final

_RANGES: Final = (("①", 1, 20), ("㉑", 21, 35), ("㊱", 36, 50), ("❶", 1, 10), ("⓫", 11, 20))
_IN_BRACKETS: Final = str.maketrans(
    {chr(ord(one) + at): f"({first + at})" for one, first, last in _RANGES for at in range(last - first + 1)}
)


def in_brackets(text: str) -> str:
    """Write circled numbers in brackets: ① as (1)."""
    return text.translate(_IN_BRACKETS)
