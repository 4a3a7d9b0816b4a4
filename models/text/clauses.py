"""Splitting of sentences that are too long for a model, at clause boundaries; no character is lost or added."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Final

from models.text.markup import split_unmarked
from models.text.spacing import sentence_gap_of
from models.text.words import has_words, inside_verbatim

_CLAUSE: Final = re.compile(
    r"""
    .+?
    (?: (?: (?! (?<=[0-9０-９]) [，：] [0-9０-９] ) [、，；：。！？…،؛؟۔।॥។៕\n] )+ [」』）】〉》”’]*
                                                  # marks that end a clause wherever they stand, but not in １，２３４
      | (?<![,;:.!?])[,;:.!?]++ ["')\]”’»]* (?=\s)     # marks that also stand inside numbers, times and names
      | \Z )
    """,
    re.VERBOSE | re.DOTALL,
)


_WORD: Final = re.compile(r"\s*\S+\s*|\s+")


def split_clauses(text: str) -> list[str]:
    """Split a text into clauses, each with its marks, that join to the text. No tag or placeholder is divided."""
    return split_unmarked(text, partial(_divided, _CLAUSE))


def _divided(pieces: re.Pattern[str], text: str) -> list[str]:
    """Split a text into a pattern's matches, which must cover it, but not within a placeholder."""
    inside = inside_verbatim(text)
    ends = [found.end() for found in pieces.finditer(text) if found.end() not in inside]
    return [text[begin:end] for begin, end in pairwise([0, *ends])]


def split_within(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    """Split a text into clauses; a clause beyond the limit between words, and a word beyond it anywhere.

    Args:
        text: in any language; the parts join to it. No tag is divided, nor a placeholder within the limit.
        size: returns the size of a text; longer texts are not smaller.
        limit: maximum size of a part; only a single character may exceed it.
    """
    within: list[str] = []
    for clause in split_clauses(text):
        within += [clause] if size(clause) <= limit else split_unmarked(clause, lambda bare: _cut(bare, size, limit))
    return within


def _cut(text: str, size: Callable[[str], int], limit: int) -> list[str]:
    return pack([part for word in _divided(_WORD, text) for part in _halves(word, size, limit)], size, limit)


def _halves(word: str, size: Callable[[str], int], limit: int) -> Iterator[str]:
    """Split a word into parts within the limit; combining characters stay with their base."""
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
        clauses: the clauses, in order.
        size: returns the size of a text; longer texts are not smaller.
        limit: maximum size of a part; a clause beyond it becomes a part of its own.

    Returns:
        The parts, which join to the same text.
    """
    parts: list[str] = []
    for clause in clauses:
        if parts and size(parts[-1] + clause) <= limit:
            parts[-1] += clause
        else:
            parts.append(clause)
    return parts


def attach(parts: list[str], size: Callable[[str], int], limit: int) -> list[str]:
    """Join each part without words to the previous one, and such a first part to the next, within a limit.

    On its own, a model would invent something for it.

    Args:
        parts: in order.
        size: returns the size of a text.
        limit: maximum size of a part; one without words stays alone where there is no room.

    Returns:
        The parts, which join to the same text.
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
    """Join the translations of a sentence's parts to one sentence.

    Args:
        parts: in order.
        language: ISO 639 code of their language, possibly with a script or region.
    """
    return sentence_gap_of(language).join(filter(None, parts))
