"""Unwrap paragraphs with hard line breaks, as in plain text, mail and Markdown, so that each is one line.

A sentence goes on after such a line break, and translating it line by line gives nonsense. Verses, lists and addresses
must keep their lines, so there has to be evidence of wrapping: lines that are as full as can be, or words that go on.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from models.text.spacing import gap_of, in_place_of_line_break
from models.text.words import has_words
from service.segmentation.format_lines import format_lines, has_subtitles
from service.segmentation.line_cells import rows_of_tables
from service.segmentation.line_marks import after_marks

_LEAST_COLUMNS: Final = 40
"""The least width of a wrapped line: the lines of verses and addresses are shorter."""
_LEAST_SPACES: Final = 3
"""The fewest spaces in a wrapped line, if the language has any: a URL or a path may be as long, but has none."""
_DEEPEST_COLUMNS: Final = 4
"""A line that is indented by so many columns or more is code, or laid out by hand."""
_PROMPT: Final = ">>>"
"""Python's, in examples."""
_LOOSE_COLUMNS: Final = 4
"""By how much full lines may differ in a language without spaces, where some signs may not begin or end a line."""
_ENDS: Final = re.compile(r"""[.!?…:;。．！？：；؟۔।॥」』）】〉》][\s"'”’»)\]*_`」』）】〉》]*\Z""")
"""The end of a line after which another sentence may begin."""
_LONGEST_END: Final = 20
"""Such an end is looked for in so many characters: each bracket of a long row of them might begin one."""
_BROKEN: Final = re.compile(r"(?:[ \t]{2}|\\|<br ?/?>)\Z", re.IGNORECASE)
"""The end of a line with an intended line break in Markdown."""
_SET_OUT: Final = re.compile(r"\S(?:\t|[ \u3000]{3})\s*\S")
"""A line with columns."""
_WORD: Final = re.compile(r"[^\W_]")
_LATIN: Final = re.compile(r"[!-~]+")
_HYPHENATED: Final = re.compile(r"[^\W\d_]-\Z")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text: the marks at its beginning, its text, and its end."""

    marks: str
    text: str
    end: str
    columns: int
    """The width up to the end of its text."""

    @property
    def indent(self) -> int:
        return columns_of(self.marks)

    @property
    def is_broken(self) -> bool:
        """Whether the line break after it is intended, not a matter of width."""
        return _BROKEN.search(self.text + self.end.rstrip("\r\n")) is not None

    @property
    def is_set_out(self) -> bool:
        """Whether it has columns, or is an example of typed input."""
        return _SET_OUT.search(self.text) is not None or _PROMPT in self.marks

    def may_go_on(self, before: "_Line", first: "_Line") -> bool:
        """Return whether it may belong to the paragraph of the line before it, given the paragraph's first line."""
        own = self.marks.strip(" \t>")
        quoted = self.marks.count(">") == first.marks.count(">")
        return not own and quoted and self.indent <= before.indent and "#" not in first.marks and not before.is_broken


def unwrapped(text: str, language: str) -> str:
    """Return the text with each wrapped paragraph on one line.

    Args:
        text: plain text or Markdown; one with subtitles stays as it is.
        language: the language of the text.
    """
    lines = text.splitlines(keepends=True)
    if len(lines) < 2 or has_subtitles(lines):
        return text
    return "".join(_joined(paragraph, gap_of(language)) for paragraph in _paragraphs(lines))


def _paragraphs(lines: Sequence[str]) -> Iterator[list[_Line]]:
    """Group the lines of a text that may be one paragraph."""
    some = list[_Line]()
    for raw, is_of_the_format, is_row in zip(lines, format_lines(lines), rows_of_tables(lines), strict=True):
        line = _line(raw)
        apart = is_of_the_format or is_row or not has_words(line.text) or line.is_set_out
        if some and (apart or not line.may_go_on(some[-1], some[0])):
            yield some
            some = []
        some.append(line)
        if apart or (not line.marks.strip() and line.indent >= _DEEPEST_COLUMNS):
            yield some
            some = []
    if some:
        yield some


def _line(raw: str) -> _Line:
    start = after_marks(raw)
    text = raw[start:].rstrip()
    return _Line(raw[:start], text, raw[start + len(text) :], columns_of(raw[:start]) + columns_of(text))


def _joined(paragraph: Sequence[_Line], gap: str) -> str:
    """Join the lines of a paragraph, but keep the line breaks that are not due to wrapping."""
    full = _is_full(paragraph, gap)
    parts = [paragraph[0].marks, paragraph[0].text]
    for before, line in pairwise(paragraph):
        if full or _goes_on(before, line, gap, cased=True):
            parts += [_between(before.text, line.text, gap), line.text]
        else:
            parts += [before.end, line.marks, line.text]
    return "".join([*parts, paragraph[-1].end])


def _is_full(paragraph: Sequence[_Line], gap: str) -> bool:
    """Return whether no line but the last had room for the first word of the next one."""
    most, pairs = max(line.columns for line in paragraph), list(pairwise(paragraph))
    room = most if gap else most - _LOOSE_COLUMNS
    return (
        most >= _LEAST_COLUMNS
        and len(pairs) > (not gap)
        # Where letters have no case, as in Korean and Arabic, a single line break is too little evidence.
        and any(_goes_on(before, line, gap, cased=len(pairs) == 1) for before, line in pairs)
        and all(
            before.columns >= most / 2 and before.columns + len(gap) + columns_of(_first_word(line.text, gap)) > room
            for before, line in pairs
        )
    )


def _goes_on(before: _Line, line: _Line, gap: str, *, cased: bool) -> bool:
    """Return whether a sentence goes on in the next line, as far as one can tell without knowing the language."""
    end = before.text[-_LONGEST_END:]
    if before.columns < _LEAST_COLUMNS or _ENDS.search(end) or not _has_some_words(before.text, gap):
        return False
    first = _WORD.search(line.text)
    return first is not None and (first[0].islower() or (not cased and unicodedata.category(first[0]) == "Lo"))


def _has_some_words(text: str, gap: str) -> bool:
    return text.count(" ") >= _LEAST_SPACES or not (gap or text.isascii())


def _first_word(text: str, gap: str) -> str:
    """Return what cannot be broken at the start of a line: a word; without spaces, a Latin word or one character."""
    latin = _LATIN.match(text)
    return text.split(maxsplit=1)[0] if gap else latin[0] if latin else text[0]


def _between(before: str, after: str, gap: str) -> str:
    """Return what replaces a line break that is due to wrapping: nothing after a hyphen."""
    if _HYPHENATED.search(before) and after[0].islower():
        return ""
    return in_place_of_line_break(gap, before[-1], after[0])


def columns_of(text: str) -> int:
    """Return the width of a text, in which wide characters take two columns."""
    return len(text) if text.isascii() else sum(1 + (unicodedata.east_asian_width(each) in "FW") for each in text)
