"""A paragraph of Word's as HTML that says the same, and the translation of that put into the paragraph again.

A stretch of text that looks otherwise than most of the paragraph is a `span`, a hyperlink an `a`, and what is no text,
such as a picture or the mark of a footnote, an `img`: each by a number, under which it is found again.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lxml import etree

W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _RUN, _TEXT, _LOOK = (W + name for name in ("p", "r", "t", "rPr"))
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
_UNSEEN: Final = frozenset(W + name for name in ("lang", "noProof"))
"""Properties of a run by which nobody sees it to look otherwise."""
_HOLDERS: Final = frozenset(W + name for name in ("hyperlink", "ins", "smartTag", "sdt"))
"""What holds runs of its own, and is kept around their translation."""
_OF_THE_MOMENT: Final = frozenset(W + name for name in ("proofErr", "lastRenderedPageBreak"))
"""What Word has found out about the text as it was."""
_WHITE: Final = {W + "tab": "hr", W + "br": "br", W + "cr": "br"}
"""White space that ends sentences, as elements of HTML that do so."""
_HYPHEN: Final = W + "noBreakHyphen"
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
        for unseen in [each for each in properties if each.tag in _UNSEEN]:
            properties.remove(unseen)
        return cls(etree.tostring(properties, method="c14n"), properties) if len(properties) else cls(b"", None)


@dataclass(frozen=True, slots=True)
class _Open:
    """A tag that is not closed yet."""

    name: str
    kept: Any
    """A look, or the element that holds what follows."""


def paragraphs(root: _Element) -> list[_Element]:
    """Those with text, but for those that Word fills itself, in fields that go on beyond them."""
    return [each for each in root.iter(_PARAGRAPH) if _has_text(each) and _begun_fields(each) == 0]


class Paragraph:
    """A paragraph, and its text as a paragraph of HTML."""

    def __init__(self, element: _Element) -> None:
        self._element = element
        self._kept: list[Any] = []
        """What has a number: looks, holders, and lists of elements that are no text."""
        self._usual = self._current = _most_frequent_look(element)
        self.html = f"<p>{''.join(self._read(element))}</p>"

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
        field: list[_Element] = []
        begun = 0
        for child in parent:
            begun += _begun_fields(child)
            if begun or field:
                field.append(child)
                if not begun:
                    yield self._object("img", field)
                    field = []
            elif child.tag == _RUN:
                yield from self._run(child)
            elif child.tag in _HOLDERS:
                yield f'{self._turn_to(self._usual)}<a id="{self._keep(child)}">'
                yield from self._read(_inside(child))
                yield f"{self._turn_to(self._usual)}</a>"
            elif child.tag not in _OF_THE_MOMENT and child.tag != W + "pPr":
                yield self._object("img", [child])
        if parent is self._element:
            yield self._turn_to(self._usual)

    def _run(self, run: _Element) -> Iterator[str]:
        look = _Look.of(run)
        for child in list(run):  # some leave it
            if child.tag in {_TEXT, _HYPHEN}:
                text = (child.text or "") if child.tag == _TEXT else "\u2011"
                yield self._turn_to(look) + html.escape(text, quote=False)
            elif child.tag != _LOOK and child.tag not in _OF_THE_MOMENT:
                name = _WHITE.get(child.tag, "img")
                ended = "" if name == "img" else self._turn_to(self._usual)
                yield ended + self._object(name, [_run_of(look, child)])

    def _turn_to(self, look: _Look) -> str:
        """The tags between text that looks as until now and some that looks so."""
        if look.said == self._current.said:
            return ""
        closing = "</span>" if self._current.said != self._usual.said else ""
        self._current = look
        return closing if look.said == self._usual.said else f'{closing}<span id="{self._keep(look)}">'

    def _object(self, name: str, elements: list[_Element]) -> str:
        return f'<{name} id="{self._keep(elements)}">'

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
            said.text = text
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
            for element in self._left.pop(int(number), ()):
                self._append(element)

    def _close(self, name: str) -> None:
        for place in reversed(range(1, len(self._open))):
            if self._open[place].name == name:
                del self._open[place]
                return

    def rest(self) -> None:
        """What the translation has no place for comes last."""
        del self._open[1:]
        for element in [element for elements in self._left.values() for element in elements]:
            self._append(element)

    def _append(self, element: _Element) -> None:
        holders = [each.kept for each in self._open if each.name != "span"]
        holders[-1].append(element)


def _has_text(paragraph: _Element) -> bool:
    return any((text.text or "").strip() and _owner(text) is paragraph for text in paragraph.iter(_TEXT))


def _begun_fields(element: _Element) -> int:
    """How many fields begin in an element, or a run, and do not end there; below zero, the other way round."""
    owner = element if element.tag == _PARAGRAPH else _owner(element)
    marks = [mark.get(f"{W}fldCharType") for mark in element.iter(f"{W}fldChar") if _owner(mark) is owner]
    return marks.count("begin") - marks.count("end")


def _owner(element: _Element) -> _Element:
    """The innermost paragraph around an element: text boxes within one have paragraphs of their own."""
    return next(element.iterancestors(_PARAGRAPH), None)


def _most_frequent_look(paragraph: _Element) -> _Look:
    count, looks = Counter[bytes](), dict[bytes, _Look]()
    for text in paragraph.iter(_TEXT):
        if _owner(text) is paragraph:
            look = _Look.of(text.getparent())
            looks[look.said] = look
            count[look.said] += len(text.text or "")
    return looks[count.most_common(1)[0][0]]


def _inside(holder: _Element) -> _Element:
    """Where the runs of a holder are."""
    content = holder.find(f"{W}sdtContent")
    return holder if content is None else content


def _empty(element: _Element) -> None:
    """Take all out of a paragraph, or what holds runs, but what it looks like."""
    for child in [each for each in element if each.tag != W + "pPr"]:
        element.remove(child)


def _run_of(look: _Look, content: _Element) -> _Element:
    run = etree.Element(_RUN)
    if look.properties is not None:
        run.append(deepcopy(look.properties))
    run.append(content)
    return run
