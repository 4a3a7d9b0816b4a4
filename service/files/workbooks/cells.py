"""Convert the text of cells and comments to runs, as in other office files, and back (ECMA-376, part 1, section 18.4).

In workbooks, a text is one `t`, or runs; line feeds within it divide lines, and characters that XML does not allow are
written as numbers. Japanese text may have its reading beside it, which is of no use in another language.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.dialects import Dialect
from service.files.xml_text import Element

S: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADED: Final = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
ITEM, INLINE, _NOTE, _RUN, _SAYS, _LOOK = (S + name for name in ("si", "is", "text", "r", "t", "rPr"))
_REMARK: Final = _THREADED + "text"
"""The text of a threaded comment, to which others may reply, in newer programs."""
_VALUE: Final = S + "v"
"""The result of a formula; some programs also write texts so."""
_WITHOUT_RUNS: Final = (_REMARK, _VALUE)
_LINE: Final = "br"  # without a namespace, unlike anything in such a file
_MOST_LINES: Final = 100_000
"""The most line breaks in the texts of a part: each is kept as an object of its own."""
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
    """Convert all texts of a part to runs, and each line break to an element.

    Raises:
        InvalidInputError: the texts have too many lines.
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
    """Convert a translated text back to the form in which programs write it."""
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
    """Return the words of a text in runs."""
    return "".join(map(_said, text.iterchildren(_RUN)))


def add(text: Element, words: str) -> None:
    """Append words to a text in runs."""
    etree.SubElement(text, _RUN).append(CELLS.saying(words))


def unescaped(text: str) -> str:
    """Decode numbers of characters, remove what XML does not allow, and make every line break a line feed."""
    characters = _NUMBERED.sub(lambda found: chr(int(found[1], 16)), text)
    return _BREAK.sub("\n", _NO_CHARACTER.sub("", characters))


def escaped(text: str) -> str:
    """Escape text, so that nothing in it is read as the number of a character."""
    return _LIKE_NUMBERED.sub("_x005F_", text)


def _runs_of(text: Element) -> list[Element]:
    """Return the runs of a text; text outside of runs is put into one."""
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
    """Group consecutive runs with the same look, and yield it with each group."""
    for _, some in groupby(runs, key=lambda each: b"" if each[0] is None else etree.tostring(each[0])):
        together = list(some)
        yield together[0][0], [run for _, run in together]
