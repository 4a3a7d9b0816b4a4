"""Sentences of subtitles that go on in the next line or the next subtitle, and how their translations are divided."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

_ENDS: Final = re.compile(r"""[.!?…;:。．！？：；」』）】〉》\-–—~〜][\s"'”’»)\]」』）】〉》]*\Z""")
"""The end of a piece after which another sentence may begin, or somebody else may speak."""
_LONGEST_END: Final = 20
"""Such an end is looked for in so many characters: each bracket of a long row of them might begin one."""
_SMALL: Final = re.compile(r"[^\W\d_]+")
"""The first word of a piece; in lower case, or if it is English I, it may continue a sentence."""
_GOES_ON: Final = re.compile(r"[、はがをにへ]\Z")
"""The end of a Japanese piece whose sentence goes on; not の, which also ends questions."""
_APART: Final = re.compile(r"[<>{}♪#\[\]]|\A[-–—(（]")
"""Signs that concern only the piece they are in, or that show another speaker."""
MOST_PIECES: Final = 6
"""The most pieces of a sentence: a whole file without punctuation would be one sentence."""
_BETWEEN_WORDS: Final = re.compile(
    r"\s+|(?<=[、。！？」』）])(?=\S)|(?<=[てでとにのはばへもをが])(?=[^ぁ-ゟー、。！？」』）\s])"
)
"""Where a translation may be divided: at spaces; in Japanese, after what usually ends a phrase."""
_NEAR: Final = 12
"""By how many characters a piece may be shorter or longer in order to be divided there."""
_ANYWHERE: Final = re.compile(r"(?<=[^\x00-\u02ff])(?=[^\x00-\u02ffー、。！？」』）])")
"""Where text without spaces between words may be divided if need be."""


def goes_on(before: str, piece: str) -> bool:
    """Return whether a sentence goes on from one piece to the next."""
    if _ENDS.search(before, len(before) - _LONGEST_END) or _APART.search(before) or _APART.search(piece):
        return False
    word = _SMALL.match(piece)
    return _GOES_ON.search(before) is not None or (word is not None and (word[0][0].islower() or word[0] == "I"))


def with_gap(before: str, piece: str) -> str:
    """Return a piece that follows another: with a space, unless neither letter beside it is ASCII, as in Japanese."""
    return f" {piece}" if before and (before[-1].isascii() or piece[0].isascii()) else piece


def divided(text: str, lengths: Sequence[int]) -> Iterator[str]:
    """Divide a text into as many pieces, in about the same proportion."""
    ends = [len(text) * share // sum(lengths) for share in accumulate(lengths[:-1])]
    start = 0
    for end in ends:
        place = _place(text, start, end)
        yield text[start:place].strip()
        start = place
    yield text[start:].strip()


def _place(text: str, start: int, end: int) -> int:
    """Return the best end near `end` for a piece from `start`; the end of the text if it cannot be divided."""
    between_words, anywhere = (_nearest(places, text, start, end) for places in (_BETWEEN_WORDS, _ANYWHERE))
    if anywhere is None or (between_words is not None and abs(between_words - end) <= max(_NEAR, len(text) // 4)):
        return len(text) if between_words is None else between_words
    return anywhere


def _nearest(places: re.Pattern[str], text: str, start: int, end: int) -> int | None:
    found = (each.start() for each in places.finditer(text, start + 1))
    return min(found, key=lambda place: abs(place - end), default=None)
