"""Spans of a translation that marks may be around, and places between its words, so that none crosses another."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.data.glossary import Glossary, Term
from models.data.markup import Pair
from models.data.spelt import Spelt
from models.data.word_edges import places_of

Span = tuple[int, int]
_TRIED: Final = 6
"""How many of the places that are near are tried together with others."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where in a translation a span may be: within another one, and beside those that are there."""

    begin: int
    end: int
    taken: Sequence[Span]

    def begins(self, places: Iterable[int]) -> list[int]:
        """Of places, those where a span may begin."""
        return [at for at in places if self.begin <= at < self.end and not any(a <= at < b for a, b in self.taken)]

    def ends(self, places: Iterable[int]) -> list[int]:
        """Of places, those where a span may end."""
        return [at for at in places if self.begin < at <= self.end and not any(a < at <= b for a, b in self.taken)]

    def spans(self, begins: Sequence[int], ends: Sequence[int]) -> list[Span]:
        """From each beginning to each end behind it, with nothing taken between."""
        return [
            (begin, end)
            for begin in begins
            for end in ends
            if begin < end and not any(begin < b and a < end for a, b in self.taken)
        ]

    def gaps(self, places: Iterable[int]) -> list[int]:
        """Of places, those where something may stand alone: between words of the span itself, or at its ends."""
        free = [at for at in places if not any(a < at < b for a, b in self.taken)]
        return [self.begin, *(at for at in free if self.begin < at < self.end), self.end]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A translation as tokens, with the places where a span may begin, or end, and the numbers of the tokens there."""

    text: str
    tokens: list[int]
    begins: dict[int, int]
    ends: dict[int, int]
    gaps: list[int]
    """The places between words; all, where none is known."""


def room_of(pairs: Sequence[Pair], spans: Mapping[int, Span], pair: Pair, size: int) -> tuple[int | None, Room]:
    """Where in a translation of that size a pair may be, beside those that have spans.

    Args:
        pairs: of the sentence.
        spans: of pairs around words, by their numbers; each has one before those within it.
        pair: one of the others.
        size: of the translation.

    Returns:
        The number of the innermost pair that it is in, and the room in the span of that; at the edge of a pair in the
        source, what is around nothing is not in it.
    """
    outer, room, beside = None, (0, size), list[Span]()
    for number, span in spans.items():
        other = pairs[number]
        within = other.begin <= pair.begin and pair.end <= other.end
        if within and (pair.wide or other.begin < pair.begin < other.end):
            outer, room = number, span
        elif span[0] < span[1]:
            beside.append(span)
    return outer, Room(*room, beside)


def around_all(text: str, pair: Pair, outer: Span, room: Room, ends: Iterable[int]) -> Span | None:
    """All of the room, for a pair with nothing but signs beside it; a full stop stays outside if it is outside."""
    if room.taken or any(map(str.isalnum, text[outer[0] : pair.begin] + text[pair.end : outer[1]])) or not pair.wide:
        return None
    inside = room.end if pair.end == outer[1] else max(room.ends(ends), default=room.end)
    return room.begin, inside


def around_copy(spelt: Spelt, pair: Pair, room: Room, pieces: Pieces) -> Span | None:
    """What is in the translation as it is in the sentence, once in both: a number, a placeholder, a name in Latin."""
    text = spelt.as_read(spelt.marks.text[pair.begin : pair.end])
    if not (text.isascii() and len(text) > 1 and text.isalnum()):
        return None
    whole = re.compile(rf"(?<![A-Za-z0-9]){text}(?![A-Za-z0-9])")
    found = [copy.span() for copy in whole.finditer(pieces.text)]
    if len(found) != 1 or len(whole.findall(spelt.text)) != 1:
        return None
    ((begin, end),) = found
    return next(iter(room.spans(room.begins([begin]), room.ends([end]))), None)


def around_term(spelt: Spelt, pair: Pair, room: Room, pieces: Pieces) -> Span | None:
    """What is said for a term of the sentence, where the pair is around the term and both are there once.

    A stand-in is there for one occurrence of the term alone.
    """
    found = list(Glossary(spelt.terms).found(spelt.marks.text))
    term = next((each.term for each in found if (each.begin, each.end) == (pair.begin, pair.end)), None)
    if term is None:
        return None
    begins = [each.begin for each in found if each.term == term]
    stand_ins = [stand_in for stand_in, other in spelt.told if other == term]
    number = begins.index(pair.begin)
    if number < len(stand_ins):
        places = places_of(stand_ins[number], pieces.text)
    else:
        places = _said_for(spelt, term, pieces.text) if len(begins) == 1 else []
    if len(places) != 1:
        return None
    ((begin, end),) = places
    return next(iter(room.spans(room.begins([begin]), room.ends([end]))), None)


def _said_for(spelt: Spelt, term: Term, text: str) -> list[Span]:
    """Where a translation says a term, or what the model says for it by itself."""
    wordings = [wording for wording, other in spelt.worded if other == term]
    return list(term.places(text)) or [place for wording in wordings for place in places_of(wording, text)]


def in_proportion(pair: Pair, outer: Span, room: Room, pieces: Pieces) -> Span:
    """A span as far from the beginning of the room, and as long, as in that part of the source, as near as may be."""
    begin, end = (_share(at, outer, room) for at in (pair.begin, pair.end))
    begins, ends = room.begins(pieces.begins), room.ends(pieces.ends)
    if spans := room.spans(_near(begin, begins), _near(end, ends)):
        return min(spans, key=lambda span: abs(span[0] - begin) + abs(span[1] - end))
    (at,) = _near(begin, room.gaps([]))[:1]
    return at, at


def gap_in_proportion(text: str, pair: Pair, outer: Span, room: Room, pieces: Pieces, least: int) -> Span:
    """The place between words for what is around nothing, as in proportion; not before that of another, `least`.

    Behind the last word, where no word follows in the source, as the mark of a note is before a full stop.
    """
    wanted = _share(pair.begin, outer, room)
    if not any(map(str.isalnum, text[pair.end : outer[1]])):
        wanted = max((at for at in pieces.ends if at <= room.end), default=room.end)
    (at,) = _near(wanted, [at for at in room.gaps(pieces.gaps) if at >= least] or [room.end])[:1]
    return at, at


def _share(at: int, outer: Span, room: Room) -> float:
    return room.begin + (at - outer[0]) * (room.end - room.begin) / max(1, outer[1] - outer[0])


def _near(wanted: float, places: Sequence[int]) -> list[int]:
    return sorted(places, key=lambda at: abs(at - wanted))[:_TRIED]
