"""What paragraphs of Word's consist of, as it is kept while their text is translated."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lxml import etree

from service.deepl.word_fields import W

RUN, TEXT, LOOK = (W + name for name in ("r", "t", "rPr"))
SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
PROPERTIES: Final = frozenset(W + name for name in ("customXmlPr", "fldData", "pPr", "sdtEndPr", "sdtPr", "smartTagPr"))
"""What a paragraph, and what holds runs, begins with."""
_UNSEEN: Final = frozenset(W + name for name in ("lang", "noProof", "rPrChange"))
"""Properties of a run by which nobody sees it to look otherwise."""
_FONTS, _HINT = f"{W}rFonts", f"{W}hint"
"""Its fonts, and to which of them characters of several scripts belong, as those of the text did."""

Element = Any
"""Of lxml, which has no types."""


class Look(NamedTuple):
    """What a run looks like; equal if nobody sees a difference."""

    said: bytes
    properties: Element | None

    @classmethod
    def of(cls, run: Element) -> "Look":
        """What this one looks like."""
        properties = deepcopy(run.find(LOOK))
        if properties is None:
            return cls(b"", None)
        for fonts in properties.findall(_FONTS):
            fonts.attrib.pop(_HINT, None)
        for unseen in [each for each in properties if each.tag in _UNSEEN or (each.tag == _FONTS and not each.attrib)]:
            properties.remove(unseen)
        return cls(etree.tostring(properties), properties) if len(properties) else cls(b"", None)


@dataclass(frozen=True, slots=True)
class Object:
    """What is no text: an element of a paragraph, or of a run, which then looks so and declares such namespaces."""

    element: Element
    look: Look | None = None
    names: Mapping[str | None, str] | None = None

    def taken(self) -> Element:
        """The element, or a run of its own that has it, to be put anywhere."""
        return self.element if self.look is None else run_of(self.look, self.element, self.names)


@dataclass(frozen=True, slots=True)
class Link:
    """A field that shows text: the runs that begin it, and the one that ends it."""

    begin: list[Element]
    end: Element


def inside(holder: Element) -> Element:
    """Where the runs of a holder are."""
    content = holder.find(f"{W}sdtContent")
    return holder if content is None else content


def empty(element: Element) -> None:
    """Take all out of a paragraph, or what holds runs, but what it looks like."""
    for child in [each for each in element if each.tag not in PROPERTIES]:
        element.remove(child)


def run_of(look: Look, content: Element, names: Mapping[str | None, str] | None = None) -> Element:
    """A run that looks so and has this in it."""
    run = etree.Element(RUN, nsmap=names)
    if look.properties is not None:
        run.append(deepcopy(look.properties))
    run.append(content)
    return run
