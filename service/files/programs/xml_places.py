"""Find the contents of elements in XML, so that some are replaced and all else stays the same, byte for byte."""

import html
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple
from xml.parsers import expat

from service.errors import InvalidInputError
from service.files.numbered import characters_of
from service.files.packed import MOST_TAGS
from service.files.plain import text_like, text_of

_START_TAG: Final = re.compile(rb"""<(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>""")
_OTHER_ENCODING: Final = re.compile(
    rb"""\A(<\?xml\b[^>]*?\sencoding\s*+=\s*+["'])(?!utf-8["'])[\w.:-]++""", re.IGNORECASE
)
_CHARACTER: Final = re.compile(r"&(?:#x([0-9A-Fa-f]++)|#0*+([0-9]++)|(amp|apos|gt|lt|quot));")
"""Without the zeros before a number: Python refuses to read thousands of digits."""
_NAMED: Final = {"amp": "&", "apos": "'", "gt": ">", "lt": "<", "quot": '"'}
_CDATA: Final = ("<![CDATA[", "]]>")

Path = tuple[str, ...]
"""The names of an element and of those around it, the outermost first."""


class Place(NamedTuple):
    """The content of an element: its place in the file, in bytes, and the attributes of the elements in its path."""

    path: Path
    attributes: tuple[dict[str, str], ...]
    begin: int
    end: int


class XmlPlaces:
    """A file of XML, and the contents of some of its elements."""

    def __init__(self, content: bytes, paths: AbstractSet[Path]) -> None:
        """Read a file.

        Raises:
            InvalidInputError: it is not well-formed, not in UTF-8, or declares anything of its own.
        """
        self._content = content
        self._raw = text_of(content).encode()
        if self._raw.count(b"<") > MOST_TAGS:
            raise InvalidInputError(f"file: has more than {MOST_TAGS} tags")
        self._paths = paths
        self._longest = max(map(len, paths))
        self._opened = list[tuple[str, dict[str, str]]]()
        self._begin = 0
        self.root = ""
        """The name of the outermost element."""
        self.places = list[Place]()
        """The elements with one of the paths, in order, except empty ones."""
        self._parser = expat.ParserCreate("utf-8")  # whatever it declares, it is in UTF-8 by now
        self._parser.StartDoctypeDeclHandler = _refuse_declarations
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        try:
            self._parser.Parse(self._raw, True)
        except expat.ExpatError as error:
            place = f"line {error.lineno}, column {error.offset + 1}"
            raise InvalidInputError(f"file: is not valid XML: {expat.ErrorString(error.code)}, {place}") from None

    def content(self, place: Place) -> str:
        """Return what is in an element, as it is written there, but with line ends as XML reads them."""
        return re.sub("\r\n?", "\n", self._raw[place.begin : place.end].decode())

    def line(self, place: Place) -> int:
        """Return the line in which the content of an element begins, from 1."""
        return self._raw.count(b"\n", 0, place.begin) + 1

    def with_contents(self, changed: Iterable[tuple[Place, str]]) -> bytes:
        """Return the file with some contents replaced, which are given in their order."""
        end = "\r\n" if self._raw.partition(b"\n")[0].endswith(b"\r") else "\n"
        written, done = list[bytes](), 0
        for place, content in changed:
            written += [self._raw[done : place.begin], content.replace("\n", end).encode()]
            done = place.end
        raw = b"".join((*written, self._raw[done:]))
        return text_like(self._content, _OTHER_ENCODING.sub(rb"\1utf-8", raw).decode())

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.root = self.root or name
        self._opened.append((name, attributes))
        if self._path() in self._paths:
            tag = _START_TAG.match(self._raw, self._parser.CurrentByteIndex)
            self._begin = 0 if tag is None or tag[0].endswith(b"/>") else tag.end()

    def _end(self, _name: str) -> None:
        if self._begin and (path := self._path()) in self._paths:
            attributes = tuple(each for _, each in self._opened)
            self.places.append(Place(path, attributes, self._begin, self._parser.CurrentByteIndex))
        self._opened.pop()

    def _path(self) -> Path:
        return tuple(name for name, _ in self._opened) if len(self._opened) <= self._longest else ()


def _refuse_declarations(*_: object) -> None:
    raise InvalidInputError("file: has declarations of its own")


def read(text: str) -> str:
    """Return what a text of XML says."""
    return _CHARACTER.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    return _NAMED[found[3]] if found[3] else chr(int(found[1] or found[2], 16 if found[1] else 10))


def within_cdata(content: str) -> str | None:
    """Return what a content says that is a single CDATA section; None if it is not."""
    begins, ends = _CDATA
    if not (content.startswith(begins) and content.find(ends) == len(content) - len(ends)):
        return None
    return content[len(begins) : -len(ends)]


def written(text: str, *, as_cdata: bool = False) -> str:
    """Write a text in XML."""
    text = characters_of(text)
    if not as_cdata:
        return html.escape(text, quote=False).replace("\r", "&#13;")
    begins, ends = _CDATA
    return f"{begins}{text.replace(ends, f'{ends[:2]}{ends}{begins}{ends[2:]}')}{ends}"
