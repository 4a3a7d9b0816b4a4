"""How the paragraphs of Word's files and of slides are written (ECMA-376), and what they consist of.

Both are runs of text that look alike. Word has links and others that hold runs, and objects within runs; on slides a
link is what a run looks like.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.fields import PASSING, W

A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_WHITE: Final = " \t\r\n"
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"

_MOST_LOOKS_BYTES: Final = 2**25
IN_MEMORY: Final = 64
"""Bytes that a tag or an attribute takes there besides what it says, at least."""
_MOST_TABS: Final = 100_000
"""In the texts of a file, where each is kept apart from them."""

Element = Any
"""Of lxml, which has no types."""


class Look(NamedTuple):
    """What a run looks like; equal if nobody sees a difference."""

    said: bytes
    properties: Element | None
    weight: int
    """Bytes of these, as a copy has them in memory."""


PLAIN: Final = Look(b"", None, 0)


def check_looks(weight: int) -> None:
    """Refuse a file that says in so many bytes how its text looks, for each piece of it.

    Raises:
        InvalidInputError: they are too many.
    """
    if weight > _MOST_LOOKS_BYTES:
        raise InvalidInputError(f"file: says in more than {_MOST_LOOKS_BYTES} bytes how its text looks")


def check_tabs(tabs: int) -> None:
    """Refuse a file of so many.

    Raises:
        InvalidInputError: they are too many.
    """
    if tabs > _MOST_TABS:
        raise InvalidInputError(f"file: has more than {_MOST_TABS} tabs")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of elements, and what they mean."""

    paragraphs: tuple[str, ...]
    run: str
    text: str
    look: str
    """Of a run: its properties."""
    begins: frozenset[str]
    """What a paragraph, and what holds runs, begins with."""
    white: Mapping[str, str]
    """White space that ends sentences, as elements of HTML that do so."""
    unseen: frozenset[str]
    """Properties of a run, and attributes of all of them, by which nobody sees it to look otherwise."""
    fonts: frozenset[str] = frozenset()
    """Properties that are kept, by which it is not said to look otherwise: each script has a font of its own."""
    ends: frozenset[str] = frozenset()
    """What a paragraph ends with."""
    holders: frozenset[str] = frozenset()
    """What holds runs of its own, and is kept around their translation."""
    content: str | None = None
    """Where some of them hold them."""
    passing: frozenset[str] = frozenset()
    """What is said of the text as it was, and dropped."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Of a property one attribute that nobody sees; without any other nobody sees the property."""
    hyphen: str | None = None
    ruby: str | None = None
    """How something is read, which is of no use in another language."""
    ruby_base: str = ""
    """And the runs of what is read so, which look as they say themselves."""
    declares_space: bool = False
    """Whether space at both ends of a text counts where that is declared alone; and whether a tab is an element."""

    def look_of(self, run: Element) -> Look:
        """What a run looks like."""
        properties = deepcopy(run.find(self.look))
        if properties is None:
            return PLAIN
        properties.tail = None
        for name in self.unseen.intersection(properties.attrib):
            del properties.attrib[name]
        for name, hint in self.hints.items():
            for each in properties.findall(name):
                each.attrib.pop(hint, None)
        for each in [each for each in properties if each.tag in self.unseen or self._says_nothing(each)]:
            properties.remove(each)
        if not len(properties) and not properties.attrib:
            return PLAIN
        written = etree.tostring(properties)
        weight = len(written) + IN_MEMORY * (written.count(b"<") + written.count(b"="))
        return Look(self._seen(properties) if self.fonts else written, properties, weight)

    def _seen(self, properties: Element) -> bytes:
        """What is said in properties, but for fonts."""
        seen = deepcopy(properties)
        seen[:] = [each for each in seen if each.tag not in self.fonts]
        return etree.tostring(seen) if len(seen) or seen.attrib else b""

    def _says_nothing(self, of_a_look: Element) -> bool:
        return of_a_look.tag in self.hints and not of_a_look.attrib

    def tabs_in(self, root: Element) -> int:
        """How many tabs the texts of a part have."""
        return sum(str(text.text).count("\t") for text in root.iter(self.text))

    def says(self, element: Element) -> bool:
        """Whether this is text, or is as good as text."""
        return element.tag in {self.text, self.hyphen}

    def said(self, element: Element) -> str:
        """What such an element says."""
        if element.tag == self.hyphen:
            return "\u2011"
        text = str(element.text or "")
        return text if not self.declares_space or element.get(_SPACE) == "preserve" else text.strip(_WHITE)

    def runs_of(self, run: Element) -> list[Element]:
        """A run, and those in it of what has its reading beside it."""
        return [run, *(run.iterfind(f"{self.ruby}/{self.ruby_base}") if self.ruby else ())]

    def saying(self, text: str) -> Element:
        """An element that says so."""
        element = etree.Element(self.text, {_SPACE: "preserve"} if self.declares_space else {})
        element.text = text
        return element

    def run_of(self, look: Look, content: Element, names: Mapping[str | None, str] | None = None) -> Element:
        """A run that looks so and has this in it."""
        run = etree.Element(self.run, nsmap=names)
        if look.properties is not None:
            run.append(deepcopy(look.properties))
        run.append(content)
        return run

    def inside(self, holder: Element) -> Element:
        """Where the runs of a holder are."""
        content = None if self.content is None else holder.find(self.content)
        return holder if content is None else content

    def empty(self, element: Element) -> None:
        """Take all out of a paragraph, or what holds runs, but what it begins with."""
        for child in [each for each in element if each.tag not in self.begins]:
            element.remove(child)


WORD: Final = Dialect(
    paragraphs=(W + "p",),
    run=W + "r",
    text=W + "t",
    look=W + "rPr",
    begins=frozenset(W + name for name in ("customXmlPr", "fldData", "pPr", "sdtEndPr", "sdtPr", "smartTagPr")),
    white={W + "tab": "hr", W + "ptab": "hr", W + "br": "br", W + "cr": "br"},
    unseen=frozenset(W + name for name in ("lang", "noProof", "rPrChange")),
    holders=frozenset(
        W + name for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag")
    ),
    content=W + "sdtContent",
    passing=PASSING,
    hints={W + "rFonts": W + "hint"},
    hyphen=W + "noBreakHyphen",
    ruby=W + "ruby",
    ruby_base=f"{W}rubyBase/{W}r",
    declares_space=True,
)
SLIDES: Final = Dialect(
    paragraphs=(A + "p",),
    run=A + "r",
    text=A + "t",
    look=A + "rPr",
    begins=frozenset({A + "pPr"}),
    ends=frozenset({A + "endParaRPr"}),
    white={A + "br": "br"},
    unseen=frozenset(("altLang", "bmk", "dirty", "err", "lang", "noProof", "smtClean", "smtId")),
)
