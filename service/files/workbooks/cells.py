"""The text of cells and of comments as runs, as other office files have it, and back (ECMA-376, part 1, section 18.4).

There a text is one `t`, or runs; lines are divided by line feeds within it, and characters that XML does not allow are
written by their numbers. Of Japanese, how it is read stands beside the text, and is of no use in another language.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.dialects import Dialect, Element

S: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADED: Final = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
ITEM, INLINE, _NOTE, _RUN, _SAYS, _LOOK = (S + name for name in ("si", "is", "text", "r", "t", "rPr"))
_REMARK: Final = _THREADED + "text"
"""What newer programs have for comments that are answered."""
_VALUE: Final = S + "v"
"""What formulas give, and what some programs write in place of a text."""
_WITHOUT_RUNS: Final = (_REMARK, _VALUE)
_LINE: Final = "br"  # of no namespace, as nothing in such a file is
_MOST_LINES: Final = 100_000
"""In the texts of a part: each is kept apart."""
_BREAK: Final = re.compile(r"(\r\n?|\n)")
_NUMBERED: Final = re.compile("_x([0-9A-Fa-f]{4})_")
_LIKE_NUMBERED: Final = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NO_CHARACTER: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

CELLS: Final = Dialect(
    paragraphs=(ITEM, INLINE, _NOTE, *_WITHOUT_RUNS),
    run=_RUN,
    text=_SAYS,
    look=_LOOK,
    begins=frozenset(),
    white={_LINE: "br"},
    unseen=frozenset(),
    fonts=frozenset(S + name for name in ("charset", "family", "rFont", "scheme")),
    passing=frozenset(S + name for name in ("phoneticPr", "rPh")),
    declares_space=True,
)


def into_runs(root: Element) -> None:
    """Have all texts of a part in runs, and each end of a line as an element.

    Raises:
        InvalidInputError: they have too many lines.
    """
    room = _MOST_LINES
    for text in root.iter(*CELLS.paragraphs):
        for run in _runs_of(text):
            for said in run.findall(_SAYS):
                lines = list(_lines(CELLS.said(said)))
                room -= max(0, len(lines) - 1)
                if room < 0:
                    raise InvalidInputError(f"file: has more than {_MOST_LINES} lines in its cells")
                for line in lines:
                    said.addprevious(line)
                run.remove(said)


def out_of_runs(text: Element) -> None:
    """Have a text that was translated as programs write it."""
    runs = [(run.find(_LOOK), run) for run in text.iterchildren(_RUN)]
    text[:] = []
    pieces = [(look, "".join(map(_said, some))) for look, some in _alike(runs)]
    if text.tag in _WITHOUT_RUNS:
        said = "".join(said for _, said in pieces)
        text.text = said if text.tag == _REMARK else escaped(said)
    elif len(pieces) == 1 and pieces[0][0] is None:
        text.append(CELLS.saying(escaped(pieces[0][1])))
    else:
        for look, said in pieces:
            run = etree.SubElement(text, _RUN)
            run.extend([] if look is None else [look])
            run.append(CELLS.saying(escaped(said)))


def text_of(text: Element) -> str:
    """What a text in runs says."""
    return "".join(map(_said, text.iterchildren(_RUN)))


def add(text: Element, words: str) -> None:
    """Have a text say something more, behind all."""
    etree.SubElement(text, _RUN).append(CELLS.saying(words))


def unescaped(text: str) -> str:
    """Text as it is read: without what XML does not allow, but for the ends of lines."""
    characters = _NUMBERED.sub(lambda found: chr(int(found[1], 16)), text)
    return _BREAK.sub("\n", _NO_CHARACTER.sub("", characters))


def escaped(text: str) -> str:
    """Text as it is written, in which nothing is read as a character's number."""
    return _LIKE_NUMBERED.sub("_x005F_", text)


def _runs_of(text: Element) -> list[Element]:
    """The runs of a text, which gets one if it has none."""
    if text.tag in _WITHOUT_RUNS:
        run = etree.SubElement(text, _RUN)
        run.append(CELLS.saying(text.text or ""))
        text.text = None
    for said in text.findall(_SAYS):
        run = etree.Element(_RUN)
        text.replace(said, run)
        run.append(said)
    return list(text.findall(_RUN))


def _lines(said: str) -> Iterator[Element]:
    for line in re.split("(\n)", unescaped(said)):
        if line:
            yield etree.Element(_LINE) if line == "\n" else CELLS.saying(line)


def _said(run: Element) -> str:
    pieces = run.iterchildren(_SAYS, _LINE)
    return "".join("\n" if piece.tag == _LINE else piece.text or "" for piece in pieces)


def _alike(runs: list[tuple[Element | None, Element]]) -> Iterator[tuple[Element | None, list[Element]]]:
    """Runs beside one another that look the same, and how that is."""
    for _, some in groupby(runs, key=lambda each: b"" if each[0] is None else etree.tostring(each[0])):
        together = list(some)
        yield together[0][0], [run for _, run in together]
