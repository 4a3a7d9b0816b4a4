"""Read the segments of translation tools (XLIFF 1.x and 2.x) as HTML, and write the translations as their targets.

Segments that are already translated stay, but are read as context for the others. Inline elements, such as placeholders
and the limits of bold text, stay with the same words, as do the tags of a segment that is a piece of a page.
"""

import re
from collections.abc import Container, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any, Final, NamedTuple

from lxml import etree

from service.errors import InvalidInputError
from service.files.messages import Page, split_at_choices
from service.files.numbered import Tag, characters_of, html_of_words, pieces_of
from service.files.packed import MOST_TAGS
from service.files.xml_text import add_text, root_of

_OLD: Final = ("{urn:oasis:names:tc:xliff:document:1.2}", "{urn:oasis:names:tc:xliff:document:1.1}", "")
"""Namespaces of 1.x; elements have none before 1.1, which TYPO3 still writes."""
_NEW: Final = ("{urn:oasis:names:tc:xliff:document:2.0}", "{urn:oasis:names:tc:xliff:document:2.2}")
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
_AROUND_WORDS: Final = frozenset(("g", "mrk", "pc"))
"""Inline elements that contain words of the sentence; the contents of all others are for programs."""
_ENDS: Final = {"bpt": "ept", "bx": "ex", "sc": "ec", "sm": "em"}
"""Inline elements before words of the sentence that belong together, and the ones after these."""
_DONE: Final = frozenset(("final", "needs-review-translation", "reviewed", "signed-off", "translated"))
"""States of segments that are already translated."""
_LOCKED: Final = frozenset(("locked", "true"))
"""Values by which memoQ locks a unit, and Trados a segment, against another translation."""
_TO_DO: Final = frozenset(("needs-translation", "new"))
_PARTS: Final = ("seg-source", "segment", "source", "target", "trans-unit")
"""Elements that must not contain a segment."""

_Element = Any
"""An element of lxml, which has no types."""
_Key = tuple[str, str | None]
"""What the beginning and the end of a pair have in common: the name of the latter, and an id."""


def html_of(content: bytes) -> str:
    """Return the segments of a file, one after the other.

    Raises:
        InvalidInputError: it is not XLIFF, or is damaged or too large.
    """
    page = Page(content)
    return page.between.join(each.html for each in _segments(_root(content), page))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with `translation`, the translated result of `html_of`, as the targets of its segments."""
    root, page = _root(content), Page(content)
    segments = list(_segments(root, page))
    translated = translation.split(page.between) if segments else []
    for segment, text in zip(segments, translated, strict=True):
        if not segment.is_done:
            segment.write(text)
    return _written(root)


def with_language(content: bytes, language: str) -> bytes:
    """State the language of the targets, unless the file does: with targets, it should, and must in 2.x."""
    root = _root(content)
    name = root.tag.removesuffix("xliff")
    places, attribute = ([root], "trgLang") if name in _NEW else (root.iter(f"{name}file"), "target-language")
    for each in places:
        each.set(attribute, each.get(attribute) or language)
    return _written(root)


def _written(root: _Element) -> bytes:
    return bytes(etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8"))


def _root(content: bytes) -> _Element:
    if content.count(b"<") > MOST_TAGS:
        raise InvalidInputError(f"file: has more than {MOST_TAGS} tags")
    try:
        root = root_of(content, strip_cdata=False)
    except ValueError as error:
        raise InvalidInputError(f"file: is not XLIFF: {error}") from None
    own = root.getroottree().docinfo.internalDTD
    if own is not None and (own.entities() or own.elements()):
        raise InvalidInputError("file: declares its own elements or entities")
    if root.tag not in {f"{name}xliff" for name in (*_OLD, *_NEW)}:
        raise InvalidInputError("file: is not XLIFF of version 1.x or 2.0 to 2.2")
    return root


def _segments(root: _Element, page: Page) -> Iterator["_Segment"]:
    """Yield the segments that may be translated and have text, in the order of the file."""
    name = root.tag.removesuffix("xliff")
    for unit in list(root.iter(f"{name}trans-unit", f"{name}segment")):  # a list, since targets are added meanwhile
        if next(unit.iterancestors(*(name + part for part in _PARTS)), None) is not None:
            raise InvalidInputError("file: has segments within segments")
        source = unit.find(f"{name}source")
        if source is not None and _may_be_translated(unit):
            yield from filter(_Segment.has_text, _of_unit(unit, source, name, page))


def _may_be_translated(unit: _Element) -> bool:
    """Return whether a unit may be translated: the innermost `translate` attribute counts."""
    said = next((each for each in (unit, *unit.iterancestors()) if each.get("translate")), None)
    return said is None or said.get("translate") != "no"


def _of_unit(unit: _Element, source: _Element, name: str, page: Page) -> Iterator["_Segment"]:
    """Yield the segment of a unit, or the several into which a tool has divided it."""
    target, divided = unit.find(f"{name}target"), unit.find(f"{name}seg-source")
    parts = {} if divided is None else _parts(divided, name)
    if not parts:
        is_done = _is_locked(unit) or (target is not None and _is_done(unit, source, target))
        yield _Segment(unit, source, target, page, is_done=is_done)
        return
    locked = {each.get("id") for each in unit.iter("{*}seg") if _is_locked(each)}
    if target is None or not _is_done(unit, source, target):
        target = _empty_target(unit, divided, target)
        _divide_alike(target, divided, name, locked)
        _say_who(unit, source, target)
    there = _parts(target, name)
    for key, part in parts.items():
        other = there.get(key)
        if other is None:
            other = etree.SubElement(target, part.tag, part.attrib)
            other.tail = part.tail
        yield _Segment(unit, part, other, page, is_done=key in locked or bool("".join(other.itertext()).strip()))


def _is_locked(element: _Element) -> bool:
    return any(etree.QName(name).localname == "locked" and said in _LOCKED for name, said in element.attrib.items())


def _divide_alike(target: _Element, divided: _Element, name: str, locked: Container[str]) -> None:
    """Fill a target with empty parts like those of a divided source, with the tags between and around them.

    Locked parts keep the text of the source.
    """
    target.text = divided.text
    target.extend(deepcopy(each) for each in divided)
    for key, part in _parts(target, name).items():
        if key not in locked:
            part.text, part[:] = None, []


def _parts(divided: _Element, name: str) -> dict[str, _Element]:
    """Return the outermost parts of a divided source or target by their ids."""
    found = [each for each in divided.iter(f"{name}mrk") if each.get("mtype") == "seg"]
    apart = [each for each in found if all(other.get("mtype") != "seg" for other in each.iterancestors(f"{name}mrk"))]
    return {each.get("mid", f"#{number}"): each for number, each in enumerate(apart)}


def _is_done(unit: _Element, source: _Element, target: _Element) -> bool:
    """Return whether a target is a translation; many tools put the source there until there is one."""
    said = "".join(target.itertext()).strip()
    state = target.get("state") or unit.get("state")
    if not said or state in _TO_DO:
        return False
    return state in _DONE or unit.get("approved") == "yes" or said != "".join(source.itertext()).strip()


def _empty_target(unit: _Element, behind: _Element, target: _Element | None) -> _Element:
    """Empty the target of a unit, or add an empty one."""
    if target is None:
        behind = next(behind.itersiblings(re.sub(r"[\w-]+\Z", "seg-source", unit.tag)), behind)
        target = etree.Element(re.sub(r"[\w-]+\Z", "target", unit.tag))
        target.tail = behind.tail
        behind.addnext(target)
    target.text = None
    target[:] = []
    return target


def _say_who(unit: _Element, source: _Element, target: _Element) -> None:
    """Mark a target as machine-translated, with white space treated as in the source."""
    if target.tag.startswith(_NEW):
        unit.set("state", "translated")
    else:
        target.set("state", "needs-review-translation")
        target.set("state-qualifier", "leveraged-mt")
    if space := source.get(_SPACE):
        target.set(_SPACE, space)


class _Pair(NamedTuple):
    """Two elements with words between them, such as the limits of bold text."""

    begin: _Element
    end: _Element


class _Open(NamedTuple):
    """An element that is being filled, and what follows it or its words when they end."""

    filled: _Element
    end: _Element | None = None


class _Segment:
    """A source and the place for its translation."""

    def __init__(self, unit: _Element, source: _Element, target: _Element | None, page: Page, *, is_done: bool) -> None:
        self.is_done = is_done
        self._unit = unit
        self._source = source
        self._target = target
        self._kept: list[_Element | _Pair] = []
        self._page = page
        self._words = "" if len(source) else source.text or ""
        self.html = _with_choices("".join(self._read(source))) if len(source) else page.html_of(self._words)

    def has_text(self) -> bool:
        """Return whether it has any text."""
        return bool("".join(self._source.itertext()).strip())

    def write(self, translation: str) -> None:
        """Fill the target with a translation of `html`."""
        target = self._target
        if target is None or target.getparent() is self._unit:  # else it is a part of a target
            target = _empty_target(self._unit, self._source, target)
            _say_who(self._unit, self._source, target)
        target.text, target[:] = None, []
        if self._kept:
            self._fill(target, translation)
        else:
            add_text(target, characters_of(self._page.text_of(translation, self._words)))

    def _read(self, parent: _Element) -> Iterator[str]:
        yield html_of_words(parent.text or "")
        pairs = _pairs(parent)
        ends = {pair.end for pair in pairs.values()}
        for child in parent:
            if child in ends:
                yield "</a>"
            else:
                yield from self._keep(child, pairs.get(child))
            yield html_of_words(child.tail or "")

    def _keep(self, child: _Element, pair: _Pair | None) -> Iterator[str]:
        self._kept.append(child if pair is None else pair)
        number = len(self._kept) - 1
        if pair is not None:
            yield f'<a id="{number}">'
        elif _has_words(child):
            yield f'<a id="{number}">{"".join(self._read(child))}</a>'
        else:
            yield f'<img id="{number}">'

    def _fill(self, target: _Element, translation: str) -> None:
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


def _put(tag: Tag, opened: list[_Open], left: dict[int, _Element | _Pair]) -> None:
    """Put what a tag stands for into the innermost open element, and take it from what is left."""
    if tag.closes:
        _close(opened)
    elif tag.number is not None:
        kept = left.pop(tag.number, None)  # None if used already: an id must not occur twice
        if tag.name == "a":
            opened.append(_opened(opened[-1].filled, kept))
        elif kept is not None:
            opened[-1].filled.append(_alone(kept))


def _pairs(parent: _Element) -> dict[_Element, _Pair]:
    """Return the pairs within an element by their beginnings; of two that cross, only the one that ends first."""
    found, opened = dict[_Element, _Pair](), list[tuple[_Key, _Element]]()
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


def _opened(parent: _Element, kept: _Element | _Pair | None) -> _Open:
    """Begin the element, or the words, that a tag stands for; None stands for nothing."""
    if isinstance(kept, _Pair):
        parent.append(_alone(kept.begin))
        return _Open(parent, kept.end)
    return _Open(parent if kept is None else etree.SubElement(parent, kept.tag, kept.attrib))


def _empty(kept: _Element | _Pair) -> Iterator[_Element]:
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


def _has_words(element: _Element) -> bool:
    """Return whether an element contains words of the sentence."""
    if not isinstance(element.tag, str) or element.get("translate") == "no" or element.get("mtype") == "protected":
        return False
    return etree.QName(element).localname in _AROUND_WORDS


def _alone(element: _Element) -> _Element:
    """Copy an element without the text after it."""
    copy = deepcopy(element)
    copy.tail = None
    return copy
