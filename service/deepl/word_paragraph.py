"""A paragraph of Word's as HTML that says the same.

A stretch of text that looks otherwise than most of the paragraph is a `span`, a link an `a`, and what is no text,
such as a picture or the mark of a footnote, an `img`: each by a number, under which it is found again.
"""

import html
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from service.deepl.word_fields import TextualFields, W, is_simple_text
from service.deepl.word_parts import LOOK, PROPERTIES, RUN, SPACE, TEXT, Element, Link, Look, Object, empty, inside
from service.deepl.word_writing import Writing

_PARAGRAPH: Final = W + "p"
_HOLDERS: Final = frozenset(
    W + name for name in ("bdo", "customXml", "dir", "hyperlink", "ins", "moveTo", "sdt", "smartTag")
)
"""What holds runs of its own, and is kept around their translation."""
_OF_THE_MOMENT: Final = frozenset(W + name for name in ("lastRenderedPageBreak", "proofErr", "softHyphen"))
"""What there is about the text as it was."""
_WHITE: Final = {W + "tab": "hr", W + "br": "br", W + "cr": "br"}
"""White space that ends sentences, as elements of HTML that do so."""
_HYPHEN, _RUBY = W + "noBreakHyphen", W + "ruby"


class Paragraph:
    """A paragraph, and its text as a paragraph of HTML.

    Of the fields of its part that show no text some have begun before it; those left at its end go on behind it.
    """

    def __init__(self, element: Element, fields: TextualFields, begun: int) -> None:
        self.begun = begun
        self.has_text = False
        self._element = element
        self._fields = fields
        self._kept: list[Any] = []
        """What has a number: looks, holders, links, and lists of objects."""
        self._first: list[Element] = []
        """Marks of fields that go on over paragraphs; they stay before the text, or behind it."""
        self._last: list[Element] = []
        self._usual = self._current = _most_frequent_look(element)
        self.html = f"<p>{''.join(self._read(element))}{self._turn_to(self._usual)}</p>"

    @classmethod
    def all_of(cls, root: Element) -> "list[Paragraph]":
        """Those of a part that have text."""
        found, fields, begun = list[Paragraph](), TextualFields(root), 0
        for element in root.iter(_PARAGRAPH):
            found.append(cls(element, fields, begun))
            begun = found[-1].begun
        return [each for each in found if each.has_text]

    def write(self, translation: str) -> None:
        """Replace the text by another one, what is inside the `<p>` of `html` in another language."""
        empty(self._element)
        self._element.extend(self._first)
        Writing(self._element, self._usual, self._kept).write(translation)
        self._element.extend(self._last)

    def _read(self, parent: Element) -> Iterator[str]:
        yield from self._read_all([each for each in parent if each.tag not in PROPERTIES])

    def _read_all(self, children: list[Element]) -> Iterator[str]:
        field: list[Object] = []
        links, end = self._fields.whole(children), 0
        for place, child in enumerate(children):
            if place < end:
                continue
            before, self.begun = self.begun, max(0, self.begun + _begun_fields(child, self._fields))
            if before or self.begun:
                field.append(Object(child))
                if not self.begun:
                    yield self._object("img", field)
                    field = []
            elif place in links:
                shown, last = links[place]
                yield from self._link(Link(children[place:shown], children[last]), self._read_all(children[shown:last]))
                end = last + 1
            elif self._fields.has_marks(child):
                (self._last if self.has_text else self._first).append(child)
            else:
                yield from self._read_one(child)
        if field:
            yield self._object("img", field)

    def _read_one(self, child: Element) -> Iterator[str]:
        if child.tag == RUN:
            yield from self._run(child)
        elif _holds_text(child):
            yield from self._link(child, self._read(inside(child)))
        elif child.tag not in _OF_THE_MOMENT:
            yield self._object("img", [Object(child)])

    def _link(self, kept: Link | Element, shown: Iterator[str]) -> Iterator[str]:
        yield f'{self._turn_to(self._usual)}<a id="{self._keep(kept)}">'
        yield from shown
        yield f"{self._turn_to(self._usual)}</a>"

    def _run(self, run: Element) -> Iterator[str]:
        look = Look.of(run)
        for child in run:
            if child.tag in {TEXT, _HYPHEN, _RUBY}:
                text = _said(child)
                self.has_text |= bool(text.strip())
                yield self._turn_to(look) + html.escape(text, quote=False)
            elif child.tag != LOOK and child.tag not in _OF_THE_MOMENT:
                name = _WHITE.get(child.tag, "img")
                ended = "" if name == "img" else self._turn_to(self._usual)
                yield ended + self._object(name, [Object(child, look, run.nsmap)])

    def _turn_to(self, look: Look) -> str:
        """The tags between text that looks as until now and some that looks so."""
        if look.said == self._current.said:
            return ""
        closing = "</span>" if self._current.said != self._usual.said else ""
        self._current = look
        return closing if look.said == self._usual.said else f'{closing}<span id="{self._keep(look)}">'

    def _object(self, name: str, objects: list[Object]) -> str:
        return f'<{name} id="{self._keep(objects)}">'

    def _keep(self, what: Any) -> int:  # noqa: ANN401 - a look, an element, or several
        self._kept.append(what)
        return len(self._kept) - 1


def _said(element: Element) -> str:
    """What an element of a run says."""
    if element.tag == _HYPHEN:
        return "\u2011"
    if element.tag == _RUBY:  # how it is read is of no use in another language
        return "".join(map(_said, element.iterfind(f"{W}rubyBase/{RUN}/{TEXT}")))
    text = str(element.text or "")
    return text if element.get(SPACE) == "preserve" else text.strip()


def _own_runs(parent: Element) -> Iterator[Element]:
    """The runs of a paragraph, also those in holders; text boxes within it have paragraphs of their own."""
    for child in parent:
        if child.tag == RUN:
            yield child
        elif _holds_text(child):
            yield from _own_runs(inside(child))


def _holds_text(element: Element) -> bool:
    return element.tag in _HOLDERS or is_simple_text(element)


def _begun_fields(element: Element, fields: TextualFields) -> int:
    """How many fields without text begin in a run, or in what holds some, and do not end there."""
    runs = [element] if element.tag == RUN else _own_runs(element) if _holds_text(element) else ()
    return sum(map(fields.others_begun, runs))


def _most_frequent_look(paragraph: Element) -> Look:
    count, looks = Counter[bytes](), dict[bytes, Look]()
    for run in _own_runs(paragraph):
        look = Look.of(run)
        looks[look.said] = look
        count[look.said] += sum(len(_said(text)) for text in run.iterfind(TEXT))
    return looks[count.most_common(1)[0][0]] if count else Look(b"", None)
