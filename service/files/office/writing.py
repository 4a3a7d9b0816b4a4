"""The translation of a paragraph, HTML by numbers, put into the paragraph."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from service.files.numbered import Tag, pieces_of
from service.files.office.dialects import Dialect, Element, Look


@dataclass(frozen=True, slots=True)
class Object:
    """What is no text: an element of a paragraph, or of a run, which then looks so, and declares namespaces."""

    element: Element
    look: Look | None = None
    names: Mapping[str | None, str] | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A field that shows text: the runs that begin it, and the one that ends it."""

    begin: list[Element]
    end: Element


@dataclass(frozen=True, slots=True)
class _Open:
    """A tag that is not closed yet."""

    name: str
    kept: Any
    """A look, or the element that holds what follows."""
    end: Element | None = None
    """What is put behind it."""

    def close(self) -> None:
        """Put it there."""
        if self.end is not None:
            self.kept.append(deepcopy(self.end))


class Writing:
    """Fills a paragraph anew, out of which all was taken, and out of the holders that are kept."""

    def __init__(self, paragraph: Element, dialect: Dialect, usual: Look, kept: list[Any]) -> None:
        self._dialect = dialect
        self._usual = usual
        self._kept = kept
        self._left = {number: each for number, each in enumerate(kept) if isinstance(each, list)}
        self._open = [_Open("p", paragraph)]

    def write(self, translation: str) -> None:
        """All of a translation."""
        for piece in pieces_of(translation):
            if isinstance(piece, Tag):
                self._tag(piece)
            else:
                self._text(piece)
        self._rest()

    def _text(self, text: str) -> None:
        """Some text, which looks as the innermost `span` says."""
        looks = [each.kept for each in self._open if each.name == "span"]
        self._append(self._dialect.run_of(looks[-1] if looks else self._usual, self._dialect.saying(text)))

    def _tag(self, tag: Tag) -> None:
        """A tag, which is one of those that were read."""
        if tag.closes:
            self._close(tag.name)
        elif tag.number is None:
            return
        elif tag.name == "span":
            self._open.append(_Open(tag.name, self._kept[tag.number]))
        elif tag.name == "a":
            self._open_link(self._kept[tag.number])
        else:
            self._put(self._left.pop(tag.number, []))

    def _open_link(self, kept: Link | Element) -> None:
        if isinstance(kept, Link):
            for run in kept.begin:
                self._append(deepcopy(run))
            self._open.append(_Open("a", self._holder, kept.end))
        else:
            holder = deepcopy(kept)
            self._append(holder)
            self._open.append(_Open("a", self._dialect.inside(holder)))

    def _close(self, name: str) -> None:
        for place in reversed(range(1, len(self._open))):
            if self._open[place].name == name:
                self._open.pop(place).close()
                return

    def _rest(self) -> None:
        """What the translation has no place for comes last."""
        while len(self._open) > 1:
            self._open.pop().close()
        for objects in self._left.values():
            self._put(objects)

    def _put(self, objects: list[Object]) -> None:
        for each in objects:
            look, element = each.look, each.element
            self._append(element if look is None else self._dialect.run_of(look, element, each.names))

    def _append(self, element: Element) -> None:
        self._holder.append(element)

    @property
    def _holder(self) -> Element:
        return next(each.kept for each in reversed(self._open) if each.name != "span")
