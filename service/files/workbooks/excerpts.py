"""Some elements of a part in a small one of their own, and put back in their places: all else stays as it is."""

from array import array
from collections.abc import Mapping
from typing import Any, Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.packed import MOST_TAGS

_MOST: Final = MOST_TAGS // 2
"""That are not equal."""
_CUT: Final = b"<?cut ?>"


class Excerpt:
    """Those elements of a part, of which equal ones are there once, under one number."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._numbers: dict[bytes, int] = {}
        self._places = array("Q"), array("Q"), array("Q")
        """Where each begins and ends, and its number; a sheet may have a million."""
        self._head = self._tail = 0

    def begin(self, head: int) -> None:
        """Say where the first element within the root of the part begins."""
        self._head = head

    def end(self, tail: int) -> None:
        """Say where the tag begins that ends the root of the part."""
        self._tail = tail

    def add(self, begin: int, end: int) -> int:
        """An element, by where it begins and where the tag begins that ends it; gives its number.

        Raises:
            InvalidInputError: they are more than are read.
        """
        behind = self._content.find(b">", begin) + 1
        if self._content[behind - 2 : behind] != b"/>":  # else it is one tag, and no more
            behind = self._content.find(b">", end) + 1
        if len(self._numbers) > _MOST:
            raise InvalidInputError(f"file: has more than {_MOST} texts")
        number = self._numbers.setdefault(self._content[begin:behind], len(self._numbers))
        for places, value in zip(self._places, (begin, behind, number), strict=True):
            places.append(value)
        return number

    def small(self) -> bytes:
        """A part that has nothing but them, in the order of their numbers; nothing if there are none."""
        if not self._numbers:
            return b""
        return b"".join((self._content[: self._head], *self._numbers, self._content[self._tail :]))

    def filled(self, changed: Mapping[int, bytes]) -> bytes:
        """The part with others in place of some of them, by their numbers."""
        written, done = bytearray(), 0
        for begin, end, number in zip(*self._places, strict=True):
            if (element := changed.get(number)) is not None:
                written += self._content[done:begin]
                written += element
                done = end
        return bytes(written + self._content[done:])


def elements_of(small: Any) -> list[bytes]:  # noqa: ANN401 - lxml has no types
    """Those of a small part, by their numbers, as they are written into the large one."""
    for element in list(small):
        element.tail = None
        element.addprevious(etree.ProcessingInstruction("cut"))
    small.append(etree.ProcessingInstruction("cut"))
    return list(etree.tostring(small, encoding=small.getroottree().docinfo.encoding).split(_CUT)[1:-1])
