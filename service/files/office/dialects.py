"""How paragraphs are written in Word's files and on slides (ECMA-376): a `Dialect` names the elements of each.

Both consist of runs: stretches of text with the same look. Word has links and other elements that hold runs, and
objects within runs; on slides, a link is a part of a run's look.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.fields import PASSING, W
from service.files.xml_text import Element

A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_W_2012: Final = "{http://schemas.microsoft.com/office/word/2012/wordml}"
_WHITE: Final = " \t\r\n"
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"

_MOST_LOOKS_BYTES: Final = 2**25
IN_MEMORY: Final = 64
"""The least bytes that a tag or an attribute takes in memory, besides its text."""
_MOST_TABS: Final = 100_000
"""The most tabs in the texts of a file: each is kept as an object of its own."""
ASIDE: Final = "aside"
"""What holds the content of a paragraph while it is replaced; it has no namespace, unlike anything in such a file."""


class Look(NamedTuple):
    """What a run looks like: looks have equal `said` if a reader sees no difference."""

    said: bytes
    properties: Element | None
    weight: int
    """Bytes that a copy of the properties takes in memory."""
    tag: str = "span"
    """The element of HTML around text with this look: `code`, which is not translated, or `span`."""


PLAIN: Final = Look(b"", None, 0)
CODE: Final = "code"
LOOKS: Final = frozenset(("span", CODE))


def check_looks(weight: int) -> None:
    """Refuse a file whose pieces of text have looks of too many bytes in all.

    Raises:
        InvalidInputError: they are too many.
    """
    if weight > _MOST_LOOKS_BYTES:
        raise InvalidInputError(f"file: has more than {_MOST_LOOKS_BYTES} bytes of text formatting")


def check_tabs(tabs: int) -> None:
    """Refuse a file with too many tabs.

    Raises:
        InvalidInputError: they are too many.
    """
    if tabs > _MOST_TABS:
        raise InvalidInputError(f"file: has more than {_MOST_TABS} tabs")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names of elements in paragraphs, by what they mean."""

    paragraphs: tuple[str, ...]
    run: str
    text: str
    look: str
    """The properties of a run."""
    begins: frozenset[str]
    """Elements that may begin a paragraph or a holder of runs, and stay there."""
    white: Mapping[str, str]
    """White space that ends sentences, with the elements of HTML that do the same."""
    unseen: frozenset[str]
    """Properties of a run, and attributes of their element, that make no visible difference."""
    fonts: frozenset[str] = frozenset()
    """Properties that are kept, but do not count as a difference: each script has a font of its own."""
    ends: frozenset[str] = frozenset()
    """Elements that may end a paragraph, and stay there."""
    holders: frozenset[str] = frozenset()
    """Elements that hold runs, and are kept around the translation of these."""
    content: str | None = None
    """The element within some holders that holds their runs."""
    control: str | None = None
    """The holder that may be bound to data of the file, such as its title."""
    bindings: tuple[str, ...] = ()
    """The paths from such a holder to what binds it."""
    passing: frozenset[str] = frozenset()
    """Elements that are dropped, since they are about the original text."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """For some properties, an invisible attribute; a property with no other attribute is invisible, too."""
    hyphen: str | None = None
    ruby: str | None = None
    """The element for ruby annotations (how a word is pronounced), which are of no use in another language."""
    ruby_base: str = ""
    """The path within it to the annotated runs, which have looks of their own."""
    look_style: tuple[str, str] | None = None
    """The path from a look to what names a style, and the attribute that does."""
    paragraph_style: tuple[str, str] | None = None
    """The same from a paragraph."""
    code: frozenset[str] = frozenset()
    """Styles of code, which is not translated; they differ from file to file."""
    declares_space: bool = False
    """Whether space at the ends of a text counts only where `xml:space` says so, and tabs are elements."""

    def look_of(self, run: Element) -> Look:
        """Return the look of a run."""
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
        tag = CODE if self._is_code(properties, self.look_style) else "span"
        return Look(self._seen(properties) if self.fonts else written, properties, weight, tag)

    def is_code(self, paragraph: Element) -> bool:
        """Return whether a paragraph is code."""
        return self._is_code(paragraph, self.paragraph_style)

    def _is_code(self, styled: Element, style: tuple[str, str] | None) -> bool:
        if style is None or not self.code:
            return False
        path, name = style
        return any(each.get(name) in self.code for each in styled.iterfind(path))

    def _seen(self, properties: Element) -> bytes:
        """Return properties without fonts."""
        seen = deepcopy(properties)
        seen[:] = [each for each in seen if each.tag not in self.fonts]
        return etree.tostring(seen) if len(seen) or seen.attrib else b""

    def _says_nothing(self, of_a_look: Element) -> bool:
        return of_a_look.tag in self.hints and not of_a_look.attrib

    def tabs_in(self, root: Element) -> int:
        """Count the tabs in the texts of a part."""
        return sum(str(text.text).count("\t") for text in root.iter(self.text))

    def says(self, element: Element) -> bool:
        """Return whether an element is text, or equivalent to text."""
        return element.tag in {self.text, self.hyphen}

    def said(self, element: Element) -> str:
        """Return the text of such an element."""
        if element.tag == self.hyphen:
            return "\u2011"
        text = str(element.text or "")
        return text if not self.declares_space or element.get(_SPACE) == "preserve" else text.strip(_WHITE)

    def runs_of(self, run: Element) -> list[Element]:
        """Return a run, and the runs within it that have ruby annotations."""
        return [run, *(run.iterfind(f"{self.ruby}/{self.ruby_base}") if self.ruby else ())]

    def saying(self, text: str) -> Element:
        """Make a text element."""
        element = etree.Element(self.text, {_SPACE: "preserve"} if self.declares_space else {})
        element.text = text
        return element

    def add_run(
        self, parent: Element, look: Look, content: Element, names: Mapping[str | None, str] | None = None
    ) -> None:
        """Append a run with a look and an element in it, which is moved within its tree: see `Paragraph.write`."""
        run = etree.SubElement(parent, self.run, nsmap=names)
        if look.properties is not None:
            run.append(deepcopy(look.properties))
        run.append(content)

    def inside(self, holder: Element) -> Element:
        """Return the element that has the runs of a holder."""
        content = None if self.content is None else holder.find(self.content)
        return holder if content is None else content

    def unbind(self, root: Element) -> None:
        """Let what a part says in content controls be their own: programs fill those that are bound with the data."""
        for control in root.iter(self.control) if self.control else ():
            found = [each for path in self.bindings for each in control.iterfind(path)]
            if found and any(map(self.says, control.iter())):
                for each in found:
                    each.getparent().remove(each)

    def empty(self, element: Element) -> None:
        """Remove everything from a paragraph or holder, except for what it begins with."""
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
    control=W + "sdt",
    bindings=tuple(f"{W}sdtPr/{namespace}dataBinding" for namespace in (W, _W_2012)),
    passing=PASSING,
    hints={W + "rFonts": W + "hint"},
    hyphen=W + "noBreakHyphen",
    ruby=W + "ruby",
    ruby_base=f"{W}rubyBase/{W}r",
    look_style=(W + "rStyle", W + "val"),
    paragraph_style=(f"{W}pPr/{W}pStyle", W + "val"),
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
