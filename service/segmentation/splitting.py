"""Split text into sentences and join it again: white space, list marks and lines without words are kept exactly.

A line's end is a boundary: a line break within a sentence would have no place in its translation. A sentence that a
caller has split keeps its boundaries; but if it consists of several, each of them is translated separately.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, starmap, takewhile

from models.text.clauses import pack, split_within
from models.text.spacing import primary
from models.text.words import PICTURES, has_words
from service.segmentation.boundaries import Boundaries
from service.segmentation.format_lines import format_lines
from service.segmentation.line_cells import cells_of, rows_of_tables
from service.segmentation.line_marks import after_marks, before_attributes, title_of_box

_EMPHASIS = ("*", "_", "~~", "==")
_WITH_ORDINALS = frozenset(
    ("bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr")
)
_ASIDE = re.compile(rf"[\s\u200b-\u200f\u202a-\u202e\u2066-\u2069\u2190-\u21ff\u25c6\u25c7{PICTURES}\ufe0e\ufe0f]")
"""White space, emoji, pictures, arrows, ◆◇◆ and direction marks, which stay as they are around a sentence.

A model knows none of them, and drops them or makes something up. Arithmetic signs are not included, since they belong
to a number.
"""
_SPACES = " \u00a0\u2002\u2003\u2009\u202f\u3000"
"""Spaces that a language may have between two sentences, wide or not; line breaks and tabs are the document's."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """Sentences without the white space and emoji around them, and the separators before, between and after them.

    `separators` has one element more than `sentences`.
    """

    sentences: tuple[str, ...]
    separators: tuple[str, ...]

    def separators_with(self, gap: str) -> list[str]:
        """Return the separators for translations, with the target language's `gap` in place of the source's spaces."""
        first, *others = self.separators
        if not others:
            return [first]
        *between, last = others
        return [first, *starmap(partial(_between, gap), zip(between, pairwise(self.sentences), strict=True)), last]

    def join(self, sentences: Sequence[str], *, gap: str | None = None) -> str:
        """Join other sentences to a text: of the same language, or of one with `gap` between sentences."""
        first, *following = self.separators if gap is None else self.separators_with(gap)
        return first + "".join(a + b for a, b in zip(sentences, following, strict=True))


def _between(gap: str, separator: str, beside: tuple[str, str]) -> str:
    """Return the separator of two translations: `gap` in place of spaces only; anything else stays as it is.

    A space beside bold words is not dropped: without it, Markdown would not recognise the marks around them.
    """
    if separator.strip(_SPACES) or (gap and separator and not separator.strip(gap)):
        return separator
    return gap if gap or not _is_marked(*beside) else separator


def _is_marked(before: str, behind: str) -> bool:
    return before.endswith(_EMPHASIS) or behind.startswith(_EMPHASIS)


def split(text: str, language: str, *, longest: int, most: int) -> Segmented:
    """Split text, so that joining the same sentences gives the same text.

    A sentence of more than `longest` characters is divided at its clauses, else between words, else anywhere. What
    follows the first `most` sentences stays in the last separator: the caller has to refuse such a text. The time is
    linear in the length of the text.
    """
    sentences: list[str] = []
    separators: list[str] = []
    kept: list[str] = []
    seen = 0
    for piece, is_sentence in _pieces(text, language, longest):
        if len(sentences) == most:
            break
        seen += len(piece)
        if not is_sentence or not has_words(piece):
            kept.append(piece)
            continue
        start, end = _core(piece)
        separators.append("".join([*kept, piece[:start]]))
        sentences.append(piece[start:end])
        kept = [piece[end:]]
    separators.append("".join([*kept, text[seen:]]))
    return Segmented(tuple(sentences), tuple(separators))


def _core(piece: str) -> tuple[int, int]:
    """Return the start and end of what is to be translated in a piece with words."""
    before, after = (sum(1 for _ in takewhile(_ASIDE.match, text)) for text in (piece, reversed(piece)))
    return before, len(piece) - after


def parts(text: str, language: str) -> tuple[str, ...]:
    """Split a caller's sentence that is really several: a model of single sentences would drop some of them.

    Joined, they are the text; a piece without words is part of the sentence before it. Empty for a single sentence.
    """
    boundaries = Boundaries(language)
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        for piece in boundaries.split(line, len(text)):
            if found and not (has_words(piece) and has_words(found[-1])):
                found[-1] += piece
            else:
                found.append(piece)
    return tuple(found) if len(found) > 1 else ()


def _pieces(text: str, language: str, longest: int) -> Iterator[tuple[str, bool]]:
    """Yield the pieces that make up the text, and whether each is a sentence, perhaps with white space around it."""
    boundaries = Boundaries(language)
    ordinals = primary(language) in _WITH_ORDINALS
    lines = text.splitlines(keepends=True)
    for line, is_of_the_format, is_row in zip(lines, format_lines(lines), rows_of_tables(lines), strict=True):
        if is_of_the_format or not has_words(line):
            yield line, False
            continue
        start, end = title_of_box(line) or (after_marks(line, ordinals=ordinals), before_attributes(line))
        end = max(start, end)
        yield line[:start], False
        for number, part in enumerate(cells_of(line[start:end], is_row=is_row)):
            if number % 2:
                yield part, False
            else:
                yield from (
                    (piece, True) for long in boundaries.split(part, longest) for piece in _divided(long, longest)
                )
        yield line[end:], False


def _divided(sentence: str, longest: int) -> list[str]:
    """Divide a sentence that is too long, at clauses or words: the service split the text, so must not refuse it."""
    if len(sentence.strip()) <= longest:
        return [sentence]
    return pack(split_within(sentence, len, longest), len, longest)
