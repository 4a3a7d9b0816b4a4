"""Marks of a sentence: tags, bold, links, around or between words. A model reads the text without them."""

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise, takewhile
from types import MappingProxyType
from typing import Final

from models.text.marks import LINKS, SIGNS, Marks
from models.text.words import beside

_FIRST: Final = 0xF0000
"""First of the private-use characters that stand for marks; no model reads or writes these."""
PLACE: Final = re.compile(r"[\U000f0000-\U0010ffff]")
_SIGNS_OF_MARKDOWN: Final = frozenset("*_~=")
_ENDS_OF_LINKS: Final = ("`", "`_", "`__")
"""Of those of reStructuredText, whose words are between ` and <address>`_, or :doc:` and <name>`."""
_MOST: Final = 1000
"""Maximum pairs of a text; with more it is read as it is, marks included."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An opening and a closing mark, and the words between, from `begin` to `end` of the text without marks."""

    opens: str
    closes: str
    begin: int
    end: int

    @property
    def wide(self) -> bool:
        """Whether there is anything between the marks."""
        return self.begin < self.end


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A text without its marks."""

    text: str
    pairs: tuple[Pair, ...] = ()
    """Outer pairs before those within them, otherwise in the order of the text; none cross."""
    before: str = ""
    """Tags at the beginning that are not closed in this text."""
    after: str = ""
    """Tags at the end that are not opened in this text."""

    @property
    def any(self) -> bool:
        """Whether the text had marks."""
        return bool(self.pairs or self.before or self.after)

    def of(self, translation: str) -> str:
        """Remove the text's marks from a translation, each at most as often as the text has it."""
        pairs = (mark for pair in self.pairs for mark in (pair.opens, pair.closes))
        left = Counter(filter(None, (self.before, self.after, *pairs)))

        def removed(found: re.Match[str]) -> str:
            left[found[0]] -= 1
            return "" if left[found[0]] >= 0 else found[0]

        longest_first = sorted(left, key=len, reverse=True)  # one may be a part of another
        return re.sub("|".join(map(re.escape, longest_first)), removed, translation) if left else translation

    def marked(self, translation: str, *behind: str) -> str:
        """Put the text's marks into a translation at the placeholders made by `with_places`.

        `behind` is appended to the translation, before the marks at the end of the text, and has no placeholders.
        """
        marks = {
            place: mark
            for number, pair in enumerate(self.pairs)
            for place, mark in zip(_places(number), (pair.opens, pair.closes), strict=True)
        }
        if marks:
            translation = PLACE.sub(lambda found: _written(found, marks.get(found[0], "")), translation)
        return f"{self.before}{' '.join(filter(None, [translation, *behind]))}{self.after}"


def _written(place: re.Match[str], mark: str) -> str:
    """Return a mark, with a space outside if it would not be recognised beside a letter there.

    Languages without spaces have letters where others have a space (CommonMark 0.31, section 6.2, and "Inline markup
    recognition rules" of reStructuredText).
    """
    is_sign, is_link = set(mark) <= _SIGNS_OF_MARKDOWN, mark.endswith(_ENDS_OF_LINKS)
    if not mark or not (is_sign or is_link):
        return mark
    opens = _is_first(place[0])
    outside, inside = beside(place) if opens else reversed(beside(place))
    is_taken_for_none = outside.isalnum() and (is_link or "_" in mark or unicodedata.category(inside or " ")[0] in "PS")
    if not is_taken_for_none:
        return mark
    return f" {mark}" if opens else f"{mark} "


NO_MARKS: Final = Unmarked("")
"""Result for any text without marks."""


def with_places(
    translation: str, spans: Sequence[tuple[int, int]], within: Mapping[int, int] = MappingProxyType({})
) -> str:
    """Insert placeholders for marks at the ends of spans of a translation.

    Args:
        translation: has no placeholders yet.
        spans: span of each pair of marks; none cross.
        within: for pairs with an empty span, by number, the number of the pair that contains them, if any.
    """
    wide = [(begin, end, number) for number, (begin, end) in enumerate(spans) if begin < end]
    alone: dict[tuple[int | None, int], str] = {}
    for number in reversed(range(len(spans))):
        at, end = spans[number]
        if at == end:
            opens, closes = _places(number)
            outer = within.get(number)
            key = (outer if outer is not None and at in spans[outer] else None, at)
            alone[key] = opens + alone.pop((number, at), "") + closes + alone.get(key, "")
    inserted: dict[int, str] = {}
    for _, end, number in sorted(wide, key=lambda each: (-each[0], -each[2])):
        inserted[end] = inserted.get(end, "") + alone.pop((number, end), "") + _places(number)[1]
    for (outer, at), marks in alone.items():
        if outer is None:
            inserted[at] = inserted.get(at, "") + marks
    for begin, _, number in sorted(wide, key=lambda each: (-each[1], each[2])):
        inserted[begin] = inserted.get(begin, "") + _places(number)[0] + alone.pop((number, begin), "")
    for place in sorted(inserted, reverse=True):
        translation = translation[:place] + inserted[place] + translation[place:]
    return translation


def with_parts_replaced(translation: str, find: Callable[[str], Iterable[tuple[int, int, str]]]) -> str:
    """Replace parts of a translation, keeping placeholders.

    Args:
        translation: may have placeholders for marks. Those within a part move to its ends, in their order: opening ones
            to its beginning, and all from the first closing one on to its end.
        find: yields the parts of a translation without placeholders, in order, each with its replacement.
    """
    places = deque((found.start() - number, found[0]) for number, found in enumerate(PLACE.finditer(translation)))
    bare, made, last = PLACE.sub("", translation), list[str](), 0

    def keep_until(end: int) -> None:
        nonlocal last
        while places and places[0][0] <= end:
            at, place = places.popleft()
            made.extend((bare[last:at], place))
            last = at
        made.append(bare[last:end])
        last = end

    for begin, end, other in find(bare):
        keep_until(begin)
        within = list[str]()
        while places and places[0][0] < end:
            within.append(places.popleft()[1])
        opens = list(takewhile(_is_first, within))
        made += [*opens, other, *within[len(opens) :]]
        last = end
    keep_until(len(bare))
    return "".join(made)


def unmarked(text: str) -> Unmarked:
    """Take the marks out of a text, including tags without a partner, unless they are words of a sentence.

    Other marks without a partner stay in the text. Takes time linear in its length.
    """
    if not any(sign in text for sign in SIGNS):
        return Unmarked(text)
    marks = Marks.of(text)
    if len(marks.partners) + len(marks.between) > _MOST:
        return Unmarked(text)
    return Unmarked(marks.without(text), tuple(_pairs(marks)), marks.text(marks.before), marks.text(marks.after))


def split_unmarked(text: str, split: Callable[[str], Iterable[str]], *, whole_links: bool = False) -> list[str]:
    """Divide a text where it would be divided without its marks; closing marks stay with the words before them.

    Args:
        text: may have marks between a word and its full stop, or after that.
        split: returns pieces that make up the text it is given.
        whole_links: whether the text of a link or a picture stays whole, as neither half would be one.
    """
    marks = Marks.of(text) if any(sign in text for sign in SIGNS) else None
    if marks is None or not marks.unread:
        return list(split(text))
    ends: Iterable[int] = accumulate(map(len, split(marks.without(text))))
    if whole_links:
        ends = _outside_links(marks, ends)
    cuts = [0, *list(_cuts(marks, ends))[:-1], len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _outside_links(marks: Marks, ends: Iterable[int]) -> Iterator[int]:
    """Yield the ends that are not within a link."""
    places = marks.places()
    links = deque(sorted((places[a], places[b]) for a, b in marks.partners.items() if marks.marks[a].name in LINKS))
    for end in ends:
        while links and links[0][1] <= end:
            links.popleft()
        if not links or end <= links[0][0]:
            yield end


def _cuts(marks: Marks, ends: Iterable[int]) -> Iterable[int]:
    """Map ends in the text without marks, given in order, to ends in the text with them."""
    places = [(place, marks.marks[number]) for number, place in marks.places().items()]
    behind = {place: marks.marks[number].end for number, place in marks.places().items() if marks.closes(number)}
    before = passed = 0
    for end in ends:
        while passed < len(places) and places[passed][0] < end:
            before += len(places[passed][1].text)
            passed += 1
        yield behind.get(end, end + before)


def _pairs(marks: Marks) -> Iterable[Pair]:
    """Yield the pairs, those around the same words as one, each with the marks beside its opening and closing ones.

    Other marks between the same two words are also joined to one, around nothing.
    """
    places = marks.places()
    numbers = sorted([*marks.paired, *marks.between])
    wide = {one: other for one, other in marks.partners.items() if places[one] < places[other]}
    within = _beside(numbers, wide.keys(), places) | _beside(numbers[::-1], frozenset(wide.values()), places)
    members = {number: [number] for both in wide.items() for number in both}
    for number, anchor in within.items():
        members[anchor].append(number)
    free = [number for number in numbers if number not in members and number not in within]
    spans = sorted([*wide.items(), *zip(free, free, strict=True)])
    for (begin, end), alike in groupby(spans, key=lambda span: (places[span[0]], places[span[1]])):
        opens, closes = zip(*alike, strict=True)
        if begin == end:
            yield Pair(marks.text(opens), "", begin, end)
        else:
            before, after = ([number for one in side for number in members[one]] for side in (opens, closes))
            yield Pair(marks.text(before), marks.text(after), begin, end)


def _beside(numbers: Iterable[int], anchors: Container[int], places: Mapping[int, int]) -> dict[int, int]:
    """Map the marks that follow an anchor in this order between the same two words to the last such anchor."""
    found: dict[int, int] = {}
    anchor = None
    for number in numbers:
        if anchor is not None and places[number] != places[anchor]:
            anchor = None
        if number in anchors:
            anchor = number
        elif anchor is not None:
            found[number] = anchor
    return found


def _is_first(place: str) -> bool:
    return (ord(place) - _FIRST) % 2 == 0


def _places(number: int) -> tuple[str, str]:
    """Return the placeholders of the opening and of the closing mark."""
    return chr(_FIRST + 2 * number), chr(_FIRST + 2 * number + 1)
