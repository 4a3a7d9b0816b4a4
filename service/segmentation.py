"""Text into sentences and back: every character of white space is kept.

Line ends are boundaries; within a line `sentencex` decides, for the language. Sentences that a caller has split are
never touched by this module.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sentencex

_ENUMERATOR = re.compile(r"\(?[0-9]{1,4}[.)．]")
"""`1.` is no sentence but the beginning of one."""
_QUOTATION = re.compile(r"と(?!ても|ころ|にかく|りあえず)|って")
"""Japanese: what follows the closing bracket of quoted speech and belongs to the same sentence."""
_SPACELESS = frozenset({"ja", "zh", "yue", "th", "lo", "km", "my"})


@dataclass(frozen=True, slots=True)
class Segmented:
    """Sentences without the white space around them, and that white space: before, between and after them.

    `separators` has one element more than `sentences`.
    """

    sentences: tuple[str, ...]
    separators: tuple[str, ...]

    def join(self, sentences: Sequence[str], *, gap: str = "") -> str:
        """The text with other sentences; where two had nothing between them comes `gap`."""
        between = [separator or gap for separator in self.separators[1:-1]]
        following = between + list(self.separators[1:][-1:])
        return self.separators[0] + "".join(a + b for a, b in zip(sentences, following, strict=True))


def split(text: str, language: str, *, longest: int) -> Segmented:
    """Split text, so that joining the same sentences gives the same text.

    `longest` is what a sentence may have, in characters. The library takes quadratic time, so a line is searched in
    windows of twice that, and what has no boundary within one is cut: too long in any case, it is for the caller to
    refuse.
    """
    sentences: list[str] = []
    separators = [""]
    for piece in _pieces(text, language, longest):
        core = piece.strip()
        before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
        if core:
            separators[-1] += before
            sentences.append(core)
            separators.append(after)
        else:
            separators[-1] += piece
    return Segmented(tuple(sentences), tuple(separators))


def gap_of(language: str) -> str:
    """What stands between two sentences of a language where the original has nothing."""
    return "" if language.split("-", maxsplit=1)[0] in _SPACELESS else " "


def _pieces(text: str, language: str, longest: int) -> Iterator[str]:
    """Pieces that make up the text: each one sentence with its white space, or white space alone."""
    for line in text.splitlines(keepends=True):
        yield from _joined(_bounded(line, language, longest))


def _bounded(line: str, language: str, longest: int) -> Iterator[str]:
    start = 0
    while start < len(line):
        window = line[start : start + 2 * longest]
        pieces = sentencex.segment(language, window)
        if "".join(pieces) != window:
            pieces = [window]
        if start + len(window) < len(line) and len(pieces) > 1:
            pieces = pieces[:-1]  # the window may have cut the last one short: it begins the next window
        yield from pieces
        start += sum(map(len, pieces))


def _joined(pieces: Iterator[str]) -> Iterator[str]:
    """Put together again what the library has split and should not have."""
    held = ""
    for piece in pieces:
        if held and not _continues(held, piece):
            yield held
            held = ""
        held += piece
    if held:
        yield held


def _continues(before: str, piece: str) -> bool:
    quoted = before.endswith(("」", "』")) and _QUOTATION.match(piece) is not None
    return quoted or _ENUMERATOR.fullmatch(before.strip()) is not None
