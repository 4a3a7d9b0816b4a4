"""Read pages in Markdown without the code that is only indented (CommonMark 0.31, section 4.4), and put it back.

This is for files that are said to be Markdown: in other texts, paragraphs are indented as well.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from service.files import plain
from service.segmentation.format_lines import format_lines
from service.segmentation.line_marks import after_marks

_INDENTED: Final = re.compile(r"[ ]{0,3}\t|[ ]{4}")
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}\s")
_HOLDS_MORE: Final = re.compile(r"[ ]{0,3}(?:[:~]\s|!!!|\?\?\?|===|:::|<|\{)")
"""The beginning of a definition, a box, a tab or an element of HTML, whose content is often indented.

That of items of lists, and of notes, is found by their marks.
"""
_HOLDS_NO_MORE: Final = re.compile(rf"{_HEADING.pattern}|[ ]{{0,3}}>")
"""The marks of headings and quotations: nothing after an empty line belongs to these."""
_PLACE: Final = re.compile(r"<!-- [0-9a-f]{16}-[0-9]+ -->\n")


def text_of(content: bytes) -> str:
    """Return the text of a page, with a comment in place of each piece of indented code.

    Raises:
        InvalidInputError: it is in an encoding that is not read.
    """
    text = plain.text_of(content)
    return "".join(lines if place is None else place for lines, place in _pieces(text))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the page with its text replaced by `translation`: the translated result of `text_of`."""
    code = {place: lines for lines, place in _pieces(plain.text_of(content)) if place is not None}
    return plain.text_like(content, _PLACE.sub(lambda found: code.get(found[0], found[0]), translation))


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the text in pieces; with each that is code, a comment that occurs nowhere in it."""
    lines = text.splitlines(keepends=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    of_code = _code(lines)
    for number, (is_code, some) in enumerate(groupby(range(len(lines)), of_code.__getitem__)):
        piece = "".join(lines[place] for place in some)
        yield piece, f"<!-- {name}-{number} -->\n" if is_code else None


def _code(lines: list[str]) -> list[bool]:
    """Return, for each line, whether it is indented code; lines within lists and the like are not taken for it."""
    found, kept = [False] * len(lines), format_lines(lines)
    may_begin, is_content = True, False
    for place, line in enumerate(lines):
        if not line.strip():
            may_begin = True
        elif _INDENTED.match(line):
            found[place] = may_begin = may_begin and not is_content and not kept[place]
        else:
            may_begin = kept[place] or _HEADING.match(line) is not None
            if not line[0].isspace() or _holds_more(line):
                is_content = _holds_more(line)
    return found


def _holds_more(line: str) -> bool:
    indent = len(line) - len(line.lstrip())
    is_marked = after_marks(line) > indent and not _HOLDS_NO_MORE.match(line)
    return is_marked or _HOLDS_MORE.match(line) is not None
