"""Marks around words of a sentence: tags, bold, links. A model reads the text without them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import punctuation
from typing import Final

from models.data.words import TAG, beside

_MARK: Final = re.compile(
    rf"""
      < (?P<closes>/?) (?P<tag>{TAG}) >
    | (?P<bold> (?<!\*) \*\* (?!\*) )
    | (?P<text> \[ ) (?= [^\[\]\n]*+ \]\( [!\#-'*-;=?-~]++ \) )      # [text](https://example.org)
    | \]\( [!\#-'*-;=?-~]++ \)
    """,
    re.VERBOSE | re.ASCII,
)
_SIGNS: Final = ("<", "**", "](")
"""One of them is in each pair of marks."""
_DEEPEST: Final = 16
"""How many marks that are still open are looked at for the one that another closes."""
_FIRST: Final = 0xF0000
"""Of the characters for private use, which tell marks from all else that a translation may have."""
_PLACE: Final = re.compile(r"[\U000f0000-\U0010ffff]")
_MOST: Final = 1000
"""Pairs of a text; with more it is read as it is."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What opens and what closes, and the words between, from `begin` to `end` of the text without marks."""

    opens: str
    closes: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A text without its marks."""

    text: str
    pairs: tuple[Pair, ...] = ()
    """An outer one before those within it, else in the order of the text; none crosses another."""
    before: str = ""
    """Tags at the beginning that nothing closes in this text."""
    after: str = ""
    """Tags at the end that nothing opens in this text."""

    @property
    def any(self) -> bool:
        """Whether the text had marks."""
        return bool(self.pairs or self.before or self.after)

    def of(self, translation: str) -> str:
        """A translation of the text without the text's marks."""
        pairs = (mark for pair in self.pairs for mark in (pair.opens, pair.closes))
        for mark in (self.before, self.after, *pairs):
            translation = translation.replace(mark, "", 1)
        return translation

    def marked(self, translation: str) -> str:
        """A translation with places for marks, which `with_places` has made, with the text's marks in them."""
        marks = {
            place: mark
            for number, pair in enumerate(self.pairs)
            for place, mark in zip(_places(number), (pair.opens, pair.closes), strict=True)
        }
        if marks:
            translation = _PLACE.sub(lambda found: marks.get(found[0], ""), translation)
        return f"{self.before}{translation}{self.after}"


NO_MARKS: Final = Unmarked("")
"""Of any text without marks."""


def with_places(translation: str, spans: Sequence[tuple[int, int]]) -> str:
    """A translation with places for marks at the ends of spans: that of each pair of marks, none crossing another."""
    numbered = [(begin, end, number, *_places(number)) for number, (begin, end) in enumerate(spans)]
    inserted: dict[int, str] = {}
    for begin, end, _, _, closes in sorted(numbered, key=lambda span: (-span[0], -span[2])):
        if begin < end:
            inserted[end] = inserted.get(end, "") + closes
    for begin, end, _, opens, closes in numbered:
        if begin == end:
            inserted[begin] = inserted.get(begin, "") + opens + closes
    for begin, end, _, opens, _ in sorted(numbered, key=lambda span: (-span[1], span[2])):
        if begin < end:
            inserted[begin] = inserted.get(begin, "") + opens
    for place in sorted(inserted, reverse=True):
        translation = translation[:place] + inserted[place] + translation[place:]
    return translation


def unmarked(text: str) -> Unmarked:
    """Take the marks of a text out, and a tag without a partner where no word is before it, or behind it.

    Other marks without a partner stay in the text. Takes a time that is linear in its length.
    """
    if not any(sign in text for sign in _SIGNS) or _PLACE.search(text):
        return Unmarked(text)
    marks = [_Mark.of(found) for found in _MARK.finditer(text)]
    partners = _partners(marks)
    if len(partners) > _MOST:
        return Unmarked(text)
    paired = {number for both in partners.items() for number in both}
    before = _at_an_end(text, marks, paired)
    after = _at_an_end(text, marks, paired.union(before), backwards=True)
    taken = sorted({*paired, *before, *after})
    places = dict(zip(taken, _offsets([marks[number] for number in taken]), strict=True))
    pairs = [
        Pair(marks[one].text, marks[other].text, places[one], places[other]) for one, other in sorted(partners.items())
    ]
    left = [text[start:end] for start, end in _between([marks[number] for number in taken], len(text))]
    ends = ("".join(marks[number].text for number in sorted(numbers)) for numbers in (before, after))
    return Unmarked("".join(left), tuple(_joined(pairs)), *ends)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark in a text: marks of one name belong together."""

    begin: int
    end: int
    text: str
    name: str
    opens: bool
    closes: bool

    @classmethod
    def of(cls, found: re.Match[str]) -> "_Mark":
        if (tag := found["tag"]) is not None:
            name = tag.split(maxsplit=1)[0].rstrip("/")
            alone = tag.endswith("/")
            return cls(*found.span(), found[0], name, not found["closes"] and not alone, bool(found["closes"]))
        if found["bold"] is not None:
            return cls(*found.span(), found[0], "**", *_flanks(found))
        opens = found["text"] is not None
        return cls(*found.span(), found[0], "[", opens, not opens)


def _flanks(found: re.Match[str]) -> tuple[bool, bool]:
    """Whether asterisks open and close, as in CommonMark, section 6.2; not those between letters or digits: 2**3."""
    before, after = beside(found)
    if before.isascii() and after.isascii() and before.isalnum() and after.isalnum():
        return False, False
    spaces = [not character.strip() for character in (before, after)]
    signs = [character in punctuation for character in (before, after)]
    opens = not spaces[1] and (not signs[1] or spaces[0] or signs[0])
    closes = not spaces[0] and (not signs[0] or spaces[1] or signs[1])
    return opens, closes


def _partners(marks: Sequence[_Mark]) -> dict[int, int]:
    """What opens, by its number, with what closes it; what is open within a pair that is closed stays without."""
    partners: dict[int, int] = {}
    still_open: list[int] = []
    for number, mark in enumerate(marks):
        near = range(len(still_open) - 1, max(-1, len(still_open) - 1 - _DEEPEST), -1)
        place = next((k for k in near if marks[still_open[k]].name == mark.name), None) if mark.closes else None
        if place is not None:
            partners[still_open[place]] = number
            del still_open[place:]
        elif mark.opens:
            still_open.append(number)
    return partners


def _at_an_end(text: str, marks: Sequence[_Mark], paired: set[int], *, backwards: bool = False) -> list[int]:
    """The tags without a partner that nothing but white space and other marks parts from an end of the text."""
    numbers = range(len(marks) - 1, -1, -1) if backwards else range(len(marks))
    edge, found = (len(text) if backwards else 0), list[int]()
    for number in numbers:
        mark = marks[number]
        between = text[mark.end : edge] if backwards else text[edge : mark.begin]
        alone = number not in paired
        if between.strip() or (alone and not mark.text.startswith("<")):
            break
        edge = mark.begin if backwards else mark.end
        found += [number] * alone
    return found


def _between(marks: Sequence[_Mark], length: int) -> Iterable[tuple[int, int]]:
    """What marks leave of a text, from where to where."""
    return zip([0, *(mark.end for mark in marks)], [*(mark.begin for mark in marks), length], strict=True)


def _offsets(marks: Sequence[_Mark]) -> list[int]:
    """Where each mark stands in the text without all of them."""
    offsets, taken = [], 0
    for mark in marks:
        offsets.append(mark.begin - taken)
        taken += mark.end - mark.begin
    return offsets


def _joined(pairs: Iterable[Pair]) -> Iterable[Pair]:
    """Pairs around the same words as one."""
    for (begin, end), alike in groupby(pairs, key=lambda pair: (pair.begin, pair.end)):
        same = list(alike)
        opens, closes = "".join(pair.opens for pair in same), "".join(pair.closes for pair in same[::-1])
        yield Pair(opens, closes, begin, end)


def _places(number: int) -> tuple[str, str]:
    """The characters that stand for what opens, and for what closes."""
    return chr(_FIRST + 2 * number), chr(_FIRST + 2 * number + 1)
