"""Subtitles (.srt, .vtt): a sentence that goes on in the next line, or in the next subtitle, is translated as one.

Such a sentence is read as one line. Its translation is divided between words, in proportion to the original pieces:
languages differ in word order, so the same content cannot always be in the same subtitle. Formatting and names of
speakers are not read, but stay around each line: italics, for example, often begin anew on each line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from service.files import plain
from service.files.subtitles.continued import MOST_PIECES, divided, goes_on, with_gap
from service.segmentation.format_lines import format_lines

_MOST_TAGS: Final = 4
"""The most tags before or after a line."""
_OPENS: Final = re.compile(
    rf"(?:\s*+(?:\{{\\[^{{}}]{{1,80}}+\}}|<(?:b|c|font|i|lang|u|v)\b[^<>]{{0,200}}+>)){{1,{_MOST_TAGS}}}+\s*+"
)
"""{\\an8}  <i>  <font color="#fff000">  <v Murasaki>"""
_OPENING_TAG: Final = re.compile(r"<[^<>]++>")
_CLOSING_TAG: Final = re.compile(r"</(?:b|c|font|i|lang|u|v)>")
_RUBY: Final = re.compile(r"</?ruby\b[^<>]*+>|<rt\b[^<>]*+>[^<>]*+(?:</rt>)?")
"""Tags around a word with a reading, and the reading (WebVTT, section 5.2), which is of no use in another language."""


@dataclass(slots=True)
class _Line:
    """A sentence, read as one line: its pieces, what was between them, and what is around it."""

    before: str = ""
    pieces: list[str] = field(default_factory=list)
    between: list[str] = field(default_factory=list)
    after: str = ""
    tags: str = ""
    """The tags that are open at its end, or that its last piece has closed."""

    @classmethod
    def read(cls, line: str) -> Self:
        """Read a line of one piece."""
        before, piece, after = _dressed(_RUBY.sub("", line))
        return cls(before, [piece], [], after, "".join(_OPENING_TAG.findall(before)))

    def goes_on(self, other: Self) -> bool:
        """Return whether it goes on in another line, which has the same formatting."""
        if not self.pieces or len(self.pieces) == MOST_PIECES or not goes_on(self.pieces[-1], other.pieces[0]):
            return False
        return other.tags == (self.tags if self.after.strip() else "")

    def add(self, skipped: Sequence[Self], other: Self) -> None:
        """Append another line, which follows some that are not read."""
        self.between.append("\n".join([self.after, *(each.before for each in skipped), other.before]))
        self.pieces += other.pieces
        self.after = other.after

    def said(self) -> str:
        return "".join(map(with_gap, ["", *self.pieces], self.pieces)) if self.pieces else self.before

    def saying(self, translation: str) -> str:
        """Return the line with its translation, divided into as many pieces."""
        if not self.pieces:
            return translation
        first, *others = divided(translation.strip(), [len(piece) for piece in self.pieces])
        pieces = "".join(between + piece for between, piece in zip(self.between, others, strict=True))
        return f"{self.before}{first}{pieces}{self.after}"


def text_of(content: bytes) -> str:
    """Return the text of a file, with each sentence on one line.

    Raises:
        InvalidInputError: the file is in an encoding that is not read.
    """
    return "\n".join(line.said() for line in _lines(plain.text_of(content)))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its text replaced by `translation`: the result of `text_of`, translated line by line."""
    lines = zip(_lines(plain.text_of(content)), translation.split("\n"), strict=True)
    return plain.text_like(content, "\n".join(line.saying(said) for line, said in lines))


def _lines(text: str) -> list[_Line]:
    """Read the lines of a file, and join those of one sentence."""
    raw = text.split("\n")
    found, skipped = list[_Line](), list[_Line]()
    for line, is_of_the_format in zip(raw, format_lines([f"{line}\n" for line in raw]), strict=True):
        if is_of_the_format or not line.strip():
            skipped.append(_Line(line))
            continue
        read = _Line.read(line)
        if found and found[-1].goes_on(read):
            found[-1].add(skipped, read)
        else:
            found += [*skipped, read]
        skipped = []
    return [*found, *skipped]


def _dressed(line: str) -> tuple[str, str, str]:
    """Split a line into white space and formatting, its text, and those after it; tags within the text stay in it."""
    opened = _OPENS.match(line)
    begin = opened.end() if opened else _indent(line)
    text = line[begin:].rstrip()
    for _ in range(_MOST_TAGS):
        end = text.rfind("</")
        if end < 0 or not _CLOSING_TAG.fullmatch(text, end):
            break
        text = text[:end].rstrip()
    if not text or "<" in text:
        begin, text = _indent(line), line.strip()
    return line[:begin], text, line[begin + len(text) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
