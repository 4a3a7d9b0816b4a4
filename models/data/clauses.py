"""A sentence that is too long for a model, divided at clause boundaries; no character is lost or added."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from models.data.markup import split_unmarked
from models.data.spacing import sentence_gap_of
from models.data.words import has_words, inside_verbatim

_CLAUSE: Final = re.compile(
    r"""
    .+?
    (?: [、，；：。！？…،؛؟।॥\n]+ [」』）】〉》”’]*     # marks that end a clause wherever they stand
      | (?<![,;:.!?])[,;:.!?]++ ["')\]”’»]* (?=\s)     # marks that also stand inside numbers, times and names
      | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)


_WORD: Final = re.compile(r"\s*\S+\s*|\s+")


def split_clauses(text: str) -> list[str]:
    """The clauses of a text, each with its marks; joined they are the text. No tag or placeholder is divided."""
    return split_unmarked(text, partial(_divided, _CLAUSE))


def _divided(pieces: re.Pattern[str], text: str) -> list[str]:
    """What a pattern finds that makes up a text, piece by piece; joined where a placeholder would be divided."""
    inside = inside_verbatim(text)
    ends = [found.end() for found in pieces.finditer(text) if found.end() not in inside]
    return [text[begin:end] for begin, end in pairwise([0, *ends])]


def split_within(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    """The clauses of a text, but one beyond the limit between its words, and a word beyond it anywhere.

    Args:
        text: in any language; joined, what is given is the text. No tag is divided, nor a placeholder within the limit.
        size: of a text; longer texts are not smaller.
        limit: of what is given; none but a character is beyond it.
    """
    within: list[str] = []
    for clause in split_clauses(text):
        within += [clause] if size(clause) <= limit else split_unmarked(clause, lambda bare: _cut(bare, size, limit))
    return within


def _cut(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    return pack([part for word in _divided(_WORD, text) for part in _halves(word, size, limit)], size, limit)


def _halves(word: str, size: Callable[[str], int], limit: int) -> Iterator[str]:
    """A word in parts within the limit; what combines with a character stays with it."""
    middle = len(word) // 2
    while middle < len(word) and unicodedata.category(word[middle]).startswith("M"):
        middle += 1
    if size(word) <= limit or not 0 < middle < len(word):
        yield word
    else:
        yield from _halves(word[:middle], size, limit)
        yield from _halves(word[middle:], size, limit)


def pack(clauses: list[str], size: Callable[[str], int], limit: int) -> list[str]:
    """Join consecutive clauses into as few parts as possible, each within the limit.

    Args:
        clauses: in order.
        size: of a text; longer texts are not smaller.
        limit: of a part; a clause beyond it becomes a part of its own.

    Returns:
        The parts; joined they are the clauses joined.
    """
    parts: list[str] = []
    for clause in clauses:
        if parts and size(parts[-1] + clause) <= limit:
            parts[-1] += clause
        else:
            parts.append(clause)
    return parts


def attach(parts: list[str], size: Callable[[str], int], limit: int) -> list[str]:
    """Join each part without words to the one before it, and such a first one to the next, within a limit.

    Alone, a model would make something up of it.

    Args:
        parts: in order.
        size: of a text.
        limit: of a part; one without words stays alone where there is no room.

    Returns:
        The parts; joined they are the parts joined.
    """
    attached: list[str] = []
    for part in parts:
        alone = attached and not (has_words(part) and has_words(attached[-1]))
        if alone and size(attached[-1] + part) <= limit:
            attached[-1] += part
        else:
            attached.append(part)
    return attached


def join_translations(parts: list[str], language: str) -> str:
    """The translations of a sentence's parts as one sentence.

    Args:
        parts: in order.
        language: ISO 639 code, perhaps with a script or region, of the language that they are in.
    """
    return sentence_gap_of(language).join(filter(None, parts))
