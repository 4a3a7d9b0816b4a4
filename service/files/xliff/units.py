"""Which segments of a file may be translated, and which of them are translated already."""

from collections.abc import Container, Iterator
from copy import deepcopy
from typing import Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.messages import Page
from service.files.xliff.segment import Segment, empty_target, say_who
from service.files.xml_text import Element

_DONE: Final = frozenset(("final", "needs-review-translation", "reviewed", "signed-off", "translated"))
"""States of segments that are already translated."""
_LOCKED: Final = frozenset(("locked", "true"))
"""Values by which memoQ locks a unit, and Trados a segment, against another translation."""
_TO_DO: Final = frozenset(("needs-translation", "new"))
_PARTS: Final = ("seg-source", "segment", "source", "target", "trans-unit")
"""Elements that must not contain a segment."""


def segments_of(root: Element, page: Page) -> Iterator[Segment]:
    """Yield the segments that may be translated and have text, in the order of the file."""
    name = root.tag.removesuffix("xliff")
    for unit in list(root.iter(f"{name}trans-unit", f"{name}segment")):  # a list, since targets are added meanwhile
        if next(unit.iterancestors(*(name + part for part in _PARTS)), None) is not None:
            raise InvalidInputError("file: has segments within segments")
        source = unit.find(f"{name}source")
        if source is not None and _may_be_translated(unit):
            yield from filter(Segment.has_text, _of_unit(unit, source, name, page))


def _may_be_translated(unit: Element) -> bool:
    """Return whether a unit may be translated: the innermost `translate` attribute counts."""
    said = next((each for each in (unit, *unit.iterancestors()) if each.get("translate")), None)
    return said is None or said.get("translate") != "no"


def _of_unit(unit: Element, source: Element, name: str, page: Page) -> Iterator[Segment]:
    """Yield the segment of a unit, or the several into which a tool has divided it."""
    target, divided = unit.find(f"{name}target"), unit.find(f"{name}seg-source")
    parts = {} if divided is None else _parts(divided, name)
    if not parts:
        is_done = _is_locked(unit) or (target is not None and _is_done(unit, source, target))
        yield Segment(unit, source, target, page, is_done=is_done)
        return
    locked = {each.get("id") for each in unit.iter("{*}seg") if _is_locked(each)}
    if target is None or not _is_done(unit, source, target):
        target = empty_target(unit, divided, target)
        _divide_alike(target, divided, name, locked)
        say_who(unit, source, target)
    there = _parts(target, name)
    for key, part in parts.items():
        other = there.get(key)
        if other is None:
            other = etree.SubElement(target, part.tag, part.attrib)
            other.tail = part.tail
        yield Segment(unit, part, other, page, is_done=key in locked or bool("".join(other.itertext()).strip()))


def _is_locked(element: Element) -> bool:
    return any(etree.QName(name).localname == "locked" and said in _LOCKED for name, said in element.attrib.items())


def _divide_alike(target: Element, divided: Element, name: str, locked: Container[str]) -> None:
    """Fill a target with empty parts like those of a divided source, with the tags between and around them.

    Locked parts keep the text of the source.
    """
    target.text = divided.text
    target.extend(deepcopy(each) for each in divided)
    for key, part in _parts(target, name).items():
        if key not in locked:
            part.text, part[:] = None, []


def _parts(divided: Element, name: str) -> dict[str, Element]:
    """Return the outermost parts of a divided source or target by their ids."""
    found = [each for each in divided.iter(f"{name}mrk") if each.get("mtype") == "seg"]
    apart = [each for each in found if all(other.get("mtype") != "seg" for other in each.iterancestors(f"{name}mrk"))]
    return {each.get("mid", f"#{number}"): each for number, each in enumerate(apart)}


def _is_done(unit: Element, source: Element, target: Element) -> bool:
    """Return whether a target is a translation; many tools put the source there until there is one."""
    said = "".join(target.itertext()).strip()
    state = target.get("state") or unit.get("state")
    if not said or state in _TO_DO:
        return False
    return state in _DONE or unit.get("approved") == "yes" or said != "".join(source.itertext()).strip()
