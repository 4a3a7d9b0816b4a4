"""Cut some elements of a large part out into a small one, and put them back in place: all else stays as it is."""

from array import array
from collections.abc import Mapping
from typing import Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.packed import MOST_TAGS
from service.files.xml_text import Element

_MOST: Final = MOST_TAGS // 2
"""The most distinct elements of an excerpt."""
_CUT: Final = b"<?cut ?>"


class Excerpt:
    """Elements cut out of a part; equal ones are kept once, under one number."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._numbers: dict[bytes, int] = {}
        self._places = array("Q"), array("Q"), array("Q")
        """The begins, ends and numbers of all elements; in arrays, since a sheet may have a million."""
        self._head = self._tail = 0

    def begin(self, head: int) -> None:
        """Set the place where the first element within the part's root begins."""
        self._head = head

    def end(self, tail: int) -> None:
        """Set the place where the end tag of the part's root begins."""
        self._tail = tail

    def add(self, begin: int, end: int) -> int:
        """Add the element that begins at `begin`, with its end tag at `end`, and return its number.

        Raises:
            InvalidInputError: there are too many elements.
        """
        behind = self._content.find(b">", begin) + 1
        if self._content[behind - 2 : behind] != b"/>":  # else it is a single, self-closing tag
            behind = self._content.find(b">", end) + 1
        if len(self._numbers) > _MOST:
            raise InvalidInputError(f"file: has more than {_MOST} texts")
        number = self._numbers.setdefault(self._content[begin:behind], len(self._numbers))
        for places, value in zip(self._places, (begin, behind, number), strict=True):
            places.append(value)
        return number

    def small(self) -> bytes:
        """Return a part with nothing but these elements, in the order of their numbers; empty if there are none."""
        if not self._numbers:
            return b""
        return b"".join((self._content[: self._head], *self._numbers, self._content[self._tail :]))

    def filled(self, changed: Mapping[int, bytes]) -> bytes:
        """Return the original part with some of the elements replaced, by their numbers."""
        written, done = bytearray(), 0
        for begin, end, number in zip(*self._places, strict=True):
            if (element := changed.get(number)) is not None:
                written += self._content[done:begin]
                written += element
                done = end
        return bytes(written + self._content[done:])


def elements_of(small: Element) -> list[bytes]:
    """Serialise the elements of a small part, in the order of their numbers, for `Excerpt.filled`."""
    for element in list(small):
        element.tail = None
        element.addprevious(etree.ProcessingInstruction("cut"))
    small.append(etree.ProcessingInstruction("cut"))
    return list(etree.tostring(small, encoding=small.getroottree().docinfo.encoding).split(_CUT)[1:-1])
