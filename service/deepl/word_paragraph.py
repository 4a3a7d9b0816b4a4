"""A paragraph of Word's as HTML that says the same, and the translation of that put into the paragraph again.

A stretch of text that looks otherwise than most of the paragraph is a `span`, a hyperlink an `a`, and what is no text,
such as a picture or the mark of a footnote, an `img`: each by a number, under which it is found again.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lxml import etree

W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _RUN, _TEXT, _LOOK = (W + name for name in ("p", "r", "t", "rPr"))
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
_UNSEEN: Final = frozenset(W + name for name in ("lang", "noProof", "rPrChange"))
"""Properties of a run by which nobody sees it to look otherwise."""
_FONTS, _HINT = f"{W}rFonts", f"{W}hint"
"""Its fonts, and to which of them characters of several scripts belong, as those of the text did."""
_HOLDERS: Final = frozenset(
    W + name for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag")
)
"""What holds runs of its own, and is kept around their translation."""
_PROPERTIES: Final = frozenset(W + name for name in ("customXmlPr", "pPr", "sdtEndPr", "sdtPr", "smartTagPr"))
"""What a paragraph and holders begin with."""
_OF_THE_MOMENT: Final = frozenset(W + name for name in ("lastRenderedPageBreak", "proofErr", "softHyphen"))
"""What there is about the text as it was."""
_WHITE: Final = {W + "tab": "hr", W + "br": "br", W + "cr": "br"}
"""White space that ends sentences, as elements of HTML that do so."""
_HYPHEN, _RUBY = W + "noBreakHyphen", W + "ruby"
_NO_CHARACTER: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML does not allow (XML 1.0, section 2.2)."""
_TAG: Final = re.compile(r'<(?P<closes>/?)(?P<name>span|a|img|hr|br)(?: id="(?P<number>\d+)")?/?>')

_Element = Any
"""Of lxml, which has no types."""


class _Look(NamedTuple):
    """What a run looks like; equal if nobody sees a difference."""

    said: bytes
    properties: _Element | None

    @classmethod
    def of(cls, run: _Element) -> "_Look":
        properties = deepcopy(run.find(_LOOK))
        if properties is None:
            return cls(b"", None)
        for fonts in properties.findall(_FONTS):
            fonts.attrib.pop(_HINT, None)
        for unseen in [each for each in properties if each.tag in _UNSEEN or (each.tag == _FONTS and not each.attrib)]:
            properties.remove(unseen)
        return cls(etree.tostring(properties), properties) if len(properties) else cls(b"", None)


@dataclass(frozen=True, slots=True)
class _Object:
    """What is no text: an element of a paragraph, or of a run, which then looks so and declares such namespaces."""

    element: _Element
    look: _Look | None = None
    names: Mapping[str | None, str] | None = None

    def taken(self) -> _Element:
        """The element, or a run of its own that has it, to be put anywhere."""
        return self.element if self.look is None else _run_of(self.look, self.element, self.names)


@dataclass(frozen=True, slots=True)
class _Open:
    """A tag that is not closed yet."""

    name: str
    kept: Any
    """A look, or the element that holds what follows."""


class Paragraph:
    """A paragraph, and its text as a paragraph of HTML.

    Some `fields` have begun before it, which Word fills itself; as many as are left at its end go on behind it.
    """

    def __init__(self, element: _Element, fields: int) -> None:
        self.fields = fields
        self.has_text = False
        self._element = element
        self._kept: list[Any] = []
        """What has a number: looks, holders, and lists of objects."""
        self._usual = self._current = _most_frequent_look(element)
        self.html = f"<p>{''.join(self._read(element))}</p>"

    @classmethod
    def all_of(cls, root: _Element) -> "list[Paragraph]":
        """Those of a part that have text."""
        found, fields = list[Paragraph](), 0
        for element in root.iter(_PARAGRAPH):
            found.append(cls(element, fields))
            fields = found[-1].fields
        return [each for each in found if each.has_text]

    def write(self, translation: str) -> None:
        """Replace the text by another one, what is inside the `<p>` of `html` in another language."""
        writing = _Writing(self._element, self._usual, self._kept)
        end = 0
        for tag in _TAG.finditer(translation):
            writing.text(html.unescape(translation[end : tag.start()]))
            writing.tag(tag["name"], tag["number"], closes=bool(tag["closes"]))
            end = tag.end()
        writing.text(html.unescape(translation[end:]))
        writing.rest()

    def _read(self, parent: _Element) -> Iterator[str]:
        field: list[_Object] = []
        for child in [each for each in parent if each.tag not in _PROPERTIES]:
            before, self.fields = self.fields, max(0, self.fields + _begun_fields(child))
            if before or self.fields:
                field.append(_Object(child))
                if not self.fields:
                    yield self._object("img", field)
                    field = []
            elif child.tag == _RUN:
                yield from self._run(child)
            elif child.tag in _HOLDERS:
                yield f'{self._turn_to(self._usual)}<a id="{self._keep(child)}">'
                yield from self._read(_inside(child))
                yield f"{self._turn_to(self._usual)}</a>"
            elif child.tag not in _OF_THE_MOMENT:
                yield self._object("img", [_Object(child)])
        if field:
            yield self._object("img", field)
        if parent is self._element:
            yield self._turn_to(self._usual)

    def _run(self, run: _Element) -> Iterator[str]:
        look = _Look.of(run)
        for child in run:
            if child.tag in {_TEXT, _HYPHEN, _RUBY}:
                text = _said(child)
                self.has_text |= bool(text.strip())
                yield self._turn_to(look) + html.escape(text, quote=False)
            elif child.tag != _LOOK and child.tag not in _OF_THE_MOMENT:
                name = _WHITE.get(child.tag, "img")
                ended = "" if name == "img" else self._turn_to(self._usual)
                yield ended + self._object(name, [_Object(child, look, run.nsmap)])

    def _turn_to(self, look: _Look) -> str:
        """The tags between text that looks as until now and some that looks so."""
        if look.said == self._current.said:
            return ""
        closing = "</span>" if self._current.said != self._usual.said else ""
        self._current = look
        return closing if look.said == self._usual.said else f'{closing}<span id="{self._keep(look)}">'

    def _object(self, name: str, objects: list[_Object]) -> str:
        return f'<{name} id="{self._keep(objects)}">'

    def _keep(self, what: Any) -> int:  # noqa: ANN401 - a look, an element, or several
        self._kept.append(what)
        return len(self._kept) - 1


class _Writing:
    """Fills a paragraph anew."""

    def __init__(self, paragraph: _Element, usual: _Look, kept: list[Any]) -> None:
        self._usual = usual
        self._kept = kept
        self._left = {number: each for number, each in enumerate(kept) if isinstance(each, list)}
        self._open = [_Open("p", paragraph)]
        _empty(paragraph)

    def text(self, text: str) -> None:
        """Some text, which looks as the innermost `span` says."""
        if text:
            looks = [each.kept for each in self._open if each.name == "span"]
            said = etree.Element(_TEXT, {_SPACE: "preserve"})
            said.text = _NO_CHARACTER.sub("", text)
            self._append(_run_of(looks[-1] if looks else self._usual, said))

    def tag(self, name: str, number: str | None, *, closes: bool) -> None:
        """A tag, which is one of those that were read."""
        if closes:
            self._close(name)
        elif number is None:
            return
        elif name == "span":
            self._open.append(_Open(name, self._kept[int(number)]))
        elif name == "a":
            holder = deepcopy(self._kept[int(number)])
            _empty(_inside(holder))
            self._append(holder)
            self._open.append(_Open(name, _inside(holder)))
        else:
            self._put(self._left.pop(int(number), []))

    def _close(self, name: str) -> None:
        for place in reversed(range(1, len(self._open))):
            if self._open[place].name == name:
                del self._open[place]
                return

    def rest(self) -> None:
        """What the translation has no place for comes last."""
        del self._open[1:]
        for objects in self._left.values():
            self._put(objects)

    def _put(self, objects: list[_Object]) -> None:
        for each in objects:
            self._append(each.taken())

    def _append(self, element: _Element) -> None:
        holders = [each.kept for each in self._open if each.name != "span"]
        holders[-1].append(element)


def _said(element: _Element) -> str:
    """What an element of a run says."""
    if element.tag == _HYPHEN:
        return "\u2011"
    if element.tag == _RUBY:  # how it is read is of no use in another language
        return "".join(map(_said, element.iterfind(f"{W}rubyBase/{_RUN}/{_TEXT}")))
    text = str(element.text or "")
    return text if element.get(_SPACE) == "preserve" else text.strip()


def _own_runs(parent: _Element) -> Iterator[_Element]:
    """The runs of a paragraph, also those in holders; text boxes within it have paragraphs of their own."""
    for child in parent:
        if child.tag == _RUN:
            yield child
        elif child.tag in _HOLDERS:
            yield from _own_runs(_inside(child))


def _begun_fields(element: _Element) -> int:
    """How many fields begin in a run, or in what holds some, and do not end there; below zero, the other way round."""
    runs = [element] if element.tag == _RUN else _own_runs(element) if element.tag in _HOLDERS else ()
    kinds = [mark.get(f"{W}fldCharType") for run in runs for mark in run.iterfind(f"{W}fldChar")]
    return kinds.count("begin") - kinds.count("end")


def _most_frequent_look(paragraph: _Element) -> _Look:
    count, looks = Counter[bytes](), dict[bytes, _Look]()
    for run in _own_runs(paragraph):
        look = _Look.of(run)
        looks[look.said] = look
        count[look.said] += sum(len(_said(text)) for text in run.iterfind(_TEXT))
    return looks[count.most_common(1)[0][0]] if count else _Look(b"", None)


def _inside(holder: _Element) -> _Element:
    """Where the runs of a holder are."""
    content = holder.find(f"{W}sdtContent")
    return holder if content is None else content


def _empty(element: _Element) -> None:
    """Take all out of a paragraph, or what holds runs, but what it looks like."""
    for child in [each for each in element if each.tag not in _PROPERTIES]:
        element.remove(child)


def _run_of(look: _Look, content: _Element, names: Mapping[str | None, str] | None = None) -> _Element:
    run = etree.Element(_RUN, nsmap=names)
    if look.properties is not None:
        run.append(deepcopy(look.properties))
    run.append(content)
    return run
