"""A segment: a source and the place for its translation."""

import re
from typing import Final

from lxml import etree

from service.files.messages import Page
from service.files.numbered import characters_of
from service.files.xliff.inline import InlineElements
from service.files.xliff.namespaces import NEW
from service.files.xml_text import Element, add_text

_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"


class Segment:
    """A source and the place for its translation."""

    def __init__(self, unit: Element, source: Element, target: Element | None, page: Page, *, is_done: bool) -> None:
        self.is_done = is_done
        self._unit = unit
        self._source = source
        self._target = target
        self._page = page
        self._inline = InlineElements(source) if len(source) else None
        self.html = page.html_of(self._words) if self._inline is None else self._inline.html

    def has_text(self) -> bool:
        """Return whether it has any text."""
        return bool("".join(self._source.itertext()).strip())

    def write(self, translation: str) -> None:
        """Fill the target with a translation of `html`."""
        target = self._target
        if target is None or target.getparent() is self._unit:  # else it is a part of a target
            target = empty_target(self._unit, self._source, target)
            say_who(self._unit, self._source, target)
        target.text, target[:] = None, []
        if self._inline is None:
            add_text(target, characters_of(self._page.text_of(translation, self._words)))
        else:
            self._inline.fill(target, translation)

    @property
    def _words(self) -> str:
        """The text of a source without inline elements."""
        return self._source.text or ""


def empty_target(unit: Element, behind: Element, target: Element | None) -> Element:
    """Empty the target of a unit, or add an empty one."""
    if target is None:
        behind = next(behind.itersiblings(re.sub(r"[\w-]+\Z", "seg-source", unit.tag)), behind)
        target = etree.Element(re.sub(r"[\w-]+\Z", "target", unit.tag))
        target.tail = behind.tail
        behind.addnext(target)
    target.text = None
    target[:] = []
    return target


def say_who(unit: Element, source: Element, target: Element) -> None:
    """Mark a target as machine-translated, with white space treated as in the source."""
    if target.tag.startswith(NEW):
        unit.set("state", "translated")
    else:
        target.set("state", "needs-review-translation")
        target.set("state-qualifier", "leveraged-mt")
    if space := source.get(_SPACE):
        target.set(_SPACE, space)
