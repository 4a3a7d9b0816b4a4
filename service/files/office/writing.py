"""Put the translation of a paragraph, which is HTML with numbered tags, into the paragraph."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from service.files.numbered import Tag, pieces_of
from service.files.office.dialects import LOOKS, Dialect, Look
from service.files.xml_text import Element


@dataclass(frozen=True, slots=True)
class Object:
    """An element that is not text: of a paragraph, or of a run with a look and namespaces."""

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
    """The run to append when it is closed."""

    def close(self) -> None:
        """Append the run that ends it, if there is one."""
        if self.end is not None:
            self.kept.append(deepcopy(self.end))


class Writing:
    """Fills a paragraph that has been emptied, as have the holders that are kept."""

    def __init__(self, paragraph: Element, dialect: Dialect, usual: Look, kept: list[Any]) -> None:
        self._dialect = dialect
        self._usual = usual
        self._kept = kept
        self._left = {number: each for number, each in enumerate(kept) if isinstance(each, list)}
        self._open = [_Open("p", paragraph)]

    def write(self, translation: str) -> None:
        """Write a whole translation."""
        for piece in pieces_of(translation):
            if isinstance(piece, Tag):
                self._tag(piece)
            else:
                self._text(piece)
        self._rest()

    def _text(self, text: str) -> None:
        """Write text with the look of the innermost `span` or `code`."""
        looks = [each.kept for each in self._open if each.name in LOOKS]
        self._dialect.add_run(self._holder, looks[-1] if looks else self._usual, self._dialect.saying(text))

    def _tag(self, tag: Tag) -> None:
        """Write what a tag stands for."""
        if tag.closes:
            self._close(tag.name)
        elif tag.number is None:
            return
        elif tag.name in LOOKS:
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
        """Close all tags, and append the objects that the translation has lost."""
        while len(self._open) > 1:
            self._open.pop().close()
        for objects in self._left.values():
            self._put(objects)

    def _put(self, objects: list[Object]) -> None:
        for each in objects:
            if each.look is None:
                self._append(each.element)
            else:
                self._dialect.add_run(self._holder, each.look, each.element, each.names)

    def _append(self, element: Element) -> None:
        self._holder.append(element)

    @property
    def _holder(self) -> Element:
        return next(each.kept for each in reversed(self._open) if each.name not in LOOKS)
