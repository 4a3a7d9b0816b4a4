"""Word's fields: some show what Word computes, such as a page number, others show text, such as a link.

A field consists of a mark that begins it, an instruction, a mark before what it shows, and a mark that ends it, all in
runs; a simple field is one element (ECMA-376, part 1, section 17.16). Fields are nested, and may span paragraphs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from service.files.xml_text import Element

W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _RUN, _LOOK, _MARK, _INSTRUCTION, _SAYS = (
    W + name for name in ("p", "r", "rPr", "fldChar", "instrText", "t")
)
PASSING: Final = frozenset(W + name for name in ("lastRenderedPageBreak", "proofErr", "softHyphen"))
"""Elements about the original text, which are dropped: where a page ended, what was misspelt."""
_SIMPLE: Final = W + "fldSimple"
_TEXTUAL: Final = "HYPERLINK", "REF", "TOC"
"""Fields that show text. Most others show a number, a date or something from elsewhere, and are left to Word.

A reference (`REF`) is filled in only when somebody asks Word to, so until then it would show the original heading.
"""
_TYPED: Final = "FORMTEXT"
"""A field of a form, which shows what somebody has typed into it; blanks are to be filled in, and stay."""

_DEEPEST: Final = 8
"""How deep fields are read: a link may be within a table of contents, but anything deeper is not real text."""


def is_simple_text(element: Element) -> bool:
    """Return whether an element is a simple field that shows text."""
    return element.tag == _SIMPLE and _shows_text(element.get(f"{W}instr", ""))


def marks_in(elements: Sequence[Element]) -> tuple[int, int]:
    """Return the places of the first and the last mark among the elements of a run; 0 and -1 if there is none."""
    places = [place for place, each in enumerate(elements) if each.tag in {_MARK, _INSTRUCTION}]
    return (places[0], places[-1]) if places else (0, -1)


@dataclass(slots=True)
class _Field:
    marks: list[Element] = field(default_factory=list)
    """Its marks, and the pieces of its instruction."""
    shows: int = 0
    """How many of the marks come before what it shows."""
    is_computed: bool = False
    """Whether another field is part of its instruction."""

    def is_read(self, content: Mapping[Element, int]) -> bool:
        """Return whether it shows text, and its marks are placed such that a translation can be put between them.

        Args:
            content: for each run with marks, how many elements it has that count.
        """
        instruction = "".join(mark.text or "" for mark in self.marks if _kind(mark) is None)
        is_typed = instruction.split()[:1] == [_TYPED]
        may_be_read = bool(self.shows) and not self.is_computed and (is_typed or _shows_text(instruction))
        return may_be_read and self._stands_apart(content) and (not is_typed or self._is_filled_in())

    def _is_filled_in(self) -> bool:
        """Return whether what is shown has any text; only for marks that stand apart, as others may end anywhere."""
        run, last = self.marks[self.shows - 1].getparent(), self.marks[-1].getparent()
        while run is not None and run is not last:
            if any(map(str.strip, run.itertext(_SAYS, with_tail=False))):
                return True
            run = run.getnext()
        return False

    def _stands_apart(self, content: Mapping[Element, int]) -> bool:
        """Return whether its marks have runs of their own, together before the text, and at the same level."""
        runs = [mark.getparent() for mark in self.marks]
        first, last = runs[0], runs[-1]
        run, shown = first, runs[self.shows - 1]
        before = set(runs[: self.shows])
        while run is not None and run is not shown and (run in before or _is_passing(run)):
            run = run.getnext()
        beside = last.getparent() is first.getparent() or last.getparent().tag == first.getparent().tag == _PARAGRAPH
        alone = all(content[run] == marks for run, marks in Counter(runs).items())
        return run is shown and beside and alone and len(self.marks) == self.shows + 1 and last not in before


class TextualFields:
    """The fields of a part that show text, and whose text can be replaced."""

    def __init__(self, root: Element) -> None:
        self._field_of: dict[Element, _Field] = {}
        """The field of each mark."""
        marks = list(root.iter(_MARK, _INSTRUCTION))
        self._content = {run: _content_of(run) for run in dict.fromkeys(mark.getparent() for mark in marks)}
        """For each run with marks, the number of its elements without its look and what is dropped."""
        still_open = list[_Field]()
        for mark in marks:
            self._add(mark, still_open)

    def _add(self, mark: Element, still_open: list[_Field]) -> None:
        kind = _kind(mark)
        if kind == "begin":
            if still_open and not still_open[-1].shows:
                still_open[-1].is_computed = True
            still_open.append(_Field())
        if not still_open:
            return
        still_open[-1].marks.append(mark)
        if kind == "separate":
            still_open[-1].shows = len(still_open[-1].marks)
        if kind == "end":
            ended = still_open.pop()
            if len(still_open) < _DEEPEST and ended.is_read(self._content):
                self._field_of |= dict.fromkeys(ended.marks, ended)

    def has_marks(self, element: Element) -> bool:
        """Return whether an element is a run with marks of such a field."""
        return self._of(element) is not None

    def others_begun(self, run: Element) -> int:
        """Return how many more of the other fields begin than end in a run."""
        kinds = [_kind(mark) for mark in run.iterfind(_MARK) if mark not in self._field_of]
        return kinds.count("begin") - kinds.count("end")

    def whole(self, elements: Sequence[Element]) -> dict[int, tuple[int, int]]:
        """Map the place where a field that is whole in `elements` begins to the start and end of what it shows."""
        places = dict[int, list[int]]()
        for place, element in enumerate(elements):
            if (found := self._of(element)) is not None:
                places.setdefault(id(found), []).append(place)
        whole = (each for each in places.values() if len(each) > 1)
        return {
            first: (before + 1, last)
            for first, before, last in ((each[0], each[-2], each[-1]) for each in whole)
            if _has(elements[first], "begin") and _has(elements[last], "end")
        }

    def _of(self, element: Element) -> _Field | None:
        if element.tag != _RUN:
            return None
        return next((self._field_of[each] for each in element if each in self._field_of), None)


def _is_passing(element: Element) -> bool:
    return element.tag in PASSING or (element.tag == _RUN and not _content_of(element))


def _content_of(run: Element) -> int:
    return sum(each.tag != _LOOK and each.tag not in PASSING for each in run)


def _has(run: Element, kind: str) -> bool:
    return any(_kind(each) == kind for each in run)


def _kind(mark: Element) -> str | None:
    """Return the type of a mark; None for a piece of an instruction."""
    kind: str | None = mark.get(f"{W}fldCharType")
    return kind


def _shows_text(instruction: str) -> bool:
    return instruction.upper().split()[:1] in ([name] for name in _TEXTUAL)
