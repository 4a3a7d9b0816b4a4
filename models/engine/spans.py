"""Finds spans of a translation for pairs of marks, and places between its words, such that no pairs cross."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.text.glossary import Glossary, Term
from models.text.markup import Pair
from models.text.spelt import Spelt
from models.text.word_edges import places_of

Span = tuple[int, int]
_TRIED: Final = 6
"""How many of the nearest places for the beginning are tried with as many for the end."""


@dataclass(frozen=True, slots=True)
class Room:
    """The part of a translation where a span may be: within another span, and not overlapping those already taken."""

    begin: int
    end: int
    taken: Sequence[Span]

    def begins(self, places: Iterable[int]) -> list[int]:
        """Return those of the places where a span may begin."""
        return [at for at in places if self.begin <= at < self.end and not any(a <= at < b for a, b in self.taken)]

    def ends(self, places: Iterable[int]) -> list[int]:
        """Return those of the places where a span may end."""
        return [at for at in places if self.begin < at <= self.end and not any(a < at <= b for a, b in self.taken)]

    def spans(self, begins: Sequence[int], ends: Sequence[int]) -> list[Span]:
        """Return the spans from each beginning to each later end that do not overlap any taken one."""
        return [
            (begin, end)
            for begin in begins
            for end in ends
            if begin < end and not any(begin < b and a < end for a, b in self.taken)
        ]

    def only(self, places: Sequence[Span]) -> Span | None:
        """Return the only one of some places, if a span may be there; None if there are several."""
        if len(places) != 1:
            return None
        ((begin, end),) = places
        return next(iter(self.spans(self.begins([begin]), self.ends([end]))), None)

    def gaps(self, places: Iterable[int]) -> list[int]:
        """Return those of the places where something may stand alone, outside taken spans, and the ends of the room."""
        free = [at for at in places if not any(a < at < b for a, b in self.taken)]
        return [self.begin, *(at for at in free if self.begin < at < self.end), self.end]


@dataclass(frozen=True, slots=True)
class Pieces:
    """A translation as tokens, with the places where a span may begin or end, each with its token's index."""

    text: str
    tokens: list[int]
    begins: dict[int, int]
    ends: dict[int, int]
    gaps: list[int]
    """The places between words; all places if none is known to be between words."""


def room_of(pairs: Sequence[Pair], spans: Mapping[int, Span], pair: Pair, size: int) -> tuple[int | None, Room]:
    """Find where in a translation a pair may be, given the spans of other pairs.

    Args:
        pairs: all pairs of the sentence.
        spans: the spans of pairs around words, by their numbers; outer pairs come before those within them.
        pair: one of the other pairs.
        size: length of the translation in characters.

    Returns:
        The number of the innermost pair that encloses it, and the room in that one's span. A pair around nothing that
        is at the edge of another one in the source is not enclosed by it.
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
    """Return all of the room, for a pair with only punctuation outside it; a full stop outside it stays outside."""
    if room.taken or any(map(str.isalnum, text[outer[0] : pair.begin] + text[pair.end : outer[1]])) or not pair.wide:
        return None
    inside = room.end if pair.end == outer[1] else max(room.ends(ends), default=room.end)
    return room.begin, inside


def around_copy(spelt: Spelt, pair: Pair, room: Room, pieces: Pieces) -> Span | None:
    """Return the span of what occurs once in both sentence and translation: a number, placeholder or Latin name."""
    text = spelt.as_read(spelt.marks.text[pair.begin : pair.end])
    if not (text.isascii() and len(text) > 1 and text.isalnum()):
        return None
    whole = re.compile(rf"(?<![A-Za-z0-9]){text}(?![A-Za-z0-9])")
    found = [copy.span() for copy in whole.finditer(pieces.text)]
    return room.only(found) if len(whole.findall(spelt.text)) == 1 else None


def around_term(spelt: Spelt, pair: Pair, room: Room, pieces: Pieces) -> Span | None:
    """Return the span of a term's translation, if the pair is around the term and both occur exactly once.

    A stand-in stands for a single occurrence of the term.
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
    return room.only(places)


def _said_for(spelt: Spelt, term: Term, text: str) -> list[Span]:
    """Return where a translation has a term, or else the model's own wording for it."""
    wordings = [wording for wording, other in spelt.worded if other == term]
    return list(term.places(text)) or [place for wording in wordings for place in places_of(wording, text)]


def in_proportion(pair: Pair, outer: Span, room: Room, pieces: Pieces) -> Span:
    """Return the span nearest to the pair's position and length in the source, scaled from `outer` to the room."""
    begin, end = (_share(at, outer, room) for at in (pair.begin, pair.end))
    begins, ends = room.begins(pieces.begins), room.ends(pieces.ends)
    if spans := room.spans(_near(begin, begins), _near(end, ends)):
        return min(spans, key=lambda span: abs(span[0] - begin) + abs(span[1] - end))
    (at,) = _near(begin, room.gaps([]))[:1]
    return at, at


def gap_in_proportion(text: str, pair: Pair, outer: Span, room: Room, pieces: Pieces, least: int) -> Span:
    """Return the place between words for a pair around nothing, by proportion, but not before `least`.

    It is after the last word if no word follows in the source, as with the mark of a note before a full stop.
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
