"""Inline elements of a segment, such as placeholders and the limits of bold text, which stay with the same words.

In HTML each is a tag with a number: `<a>` if words of the sentence are in it or between two of them, `<img>` otherwise.
"""

from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from typing import Final, NamedTuple

from lxml import etree

from service.files.messages import split_at_choices
from service.files.numbered import Tag, html_of_words, pieces_of
from service.files.xml_text import Element, add_text

_AROUND_WORDS: Final = frozenset(("g", "mrk", "pc"))
"""Inline elements that contain words of the sentence; the contents of all others are for programs."""
_ENDS: Final = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
"""Inline elements before words of the sentence that belong together, and the ones after these."""

_Key = tuple[str, str | None]
"""What the beginning and the end of a pair have in common: the name of the latter, and an id."""


class _Pair(NamedTuple):
    """Two elements with words between them, such as the limits of bold text."""

    begin: Element
    end: Element


class _Open(NamedTuple):
    """An element that is being filled, and what follows it or its words when they end."""

    filled: Element
    end: Element | None = None


class InlineElements:
    """The elements in the source of a segment.

    Attributes:
        html: the source, with a tag for each of them.
    """

    def __init__(self, source: Element) -> None:
        self._kept: list[Element | _Pair] = []
        self.html = _with_choices("".join(self._read(source)))

    def fill(self, target: Element, translation: str) -> None:
        """Fill an empty target with a translation of `html`."""
        opened, left, said = [_Open(target)], dict(enumerate(self._kept)), list[str]()
        for piece in pieces_of(translation):
            if isinstance(piece, str) or piece.name == "br":
                said.append(piece if isinstance(piece, str) else "\n")
            elif piece.name != "code":  # which are the limits of a choice
                add_text(opened[-1].filled, "".join(said))
                said = []
                _put(piece, opened, left)
        add_text(opened[-1].filled, "".join(said))
        while len(opened) > 1:
            _close(opened)
        target.extend(chain.from_iterable(map(_empty, left.values())))

    def _read(self, parent: Element) -> Iterator[str]:
        yield html_of_words(parent.text or "")
        pairs = _pairs(parent)
        ends = {pair.end for pair in pairs.values()}
        for child in parent:
            if child in ends:
                yield "</a>"
            else:
                yield from self._keep(child, pairs.get(child))
            yield html_of_words(child.tail or "")

    def _keep(self, child: Element, pair: _Pair | None) -> Iterator[str]:
        self._kept.append(child if pair is None else pair)
        number = len(self._kept) - 1
        if pair is not None:
            yield f'<a id="{number}">'
        elif _has_words(child):
            yield f'<a id="{number}">{"".join(self._read(child))}</a>'
        else:
            yield f'<img id="{number}">'


def _put(tag: Tag, opened: list[_Open], left: dict[int, Element | _Pair]) -> None:
    """Put what a tag stands for into the innermost open element, and take it from what is left."""
    if tag.closes:
        _close(opened)
    elif tag.number is not None:
        kept = left.pop(tag.number, None)  # None if used already: an id must not occur twice
        if tag.name == "a":
            opened.append(_opened(opened[-1].filled, kept))
        elif kept is not None:
            opened[-1].filled.append(_alone(kept))


def _pairs(parent: Element) -> dict[Element, _Pair]:
    """Return the pairs within an element by their beginnings; of two that cross, only the one that ends first."""
    found, opened = dict[Element, _Pair](), list[tuple[_Key, Element]]()
    places = dict[_Key, int]()
    """Where in `opened` each key was last; it is something else by now if that has been left out."""
    for child in parent.iterchildren("*"):
        name = etree.QName(child).localname
        if name in _ENDS:
            key = _ENDS[name], child.get("rid") or child.get("id")
            places[key] = len(opened)
            opened.append((key, child))
        elif name in _ENDS.values():
            key = name, child.get("startRef") or child.get("rid") or child.get("id")
            place = places.get(key, len(opened))
            if place < len(opened) and opened[place][0] == key:
                begin = opened[place][1]
                found[begin] = _Pair(begin, child)
                del opened[place:]
    return found


def _opened(parent: Element, kept: Element | _Pair | None) -> _Open:
    """Begin the element, or the words, that a tag stands for; None stands for nothing."""
    if isinstance(kept, _Pair):
        parent.append(_alone(kept.begin))
        return _Open(parent, kept.end)
    return _Open(parent if kept is None else etree.SubElement(parent, kept.tag, kept.attrib))


def _empty(kept: Element | _Pair) -> Iterator[Element]:
    """Yield what a translation has lost, without words of the sentence."""
    if isinstance(kept, _Pair):
        yield from map(_alone, kept)
    else:
        yield etree.Element(kept.tag, kept.attrib) if _has_words(kept) else _alone(kept)


def _close(opened: list[_Open]) -> None:
    """End what was begun last, if there is anything besides the target."""
    if len(opened) > 1:
        filled, end = opened.pop()
        if end is not None:
            filled.append(_alone(end))


def _with_choices(segment: str) -> str:
    """Make a word of each choice of ICU, with the elements in it, which Angular has in units of their own."""
    return "".join(f"{words}<code>{choice}</code>" if choice else words for words, choice in split_at_choices(segment))


def _has_words(element: Element) -> bool:
    """Return whether an element contains words of the sentence."""
    if not isinstance(element.tag, str) or element.get("translate") == "no" or element.get("mtype") == "protected":
        return False
    return etree.QName(element).localname in _AROUND_WORDS


def _alone(element: Element) -> Element:
    """Copy an element without the text after it."""
    copy = deepcopy(element)
    copy.tail = None
    return copy
