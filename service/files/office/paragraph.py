"""Represent a paragraph of an office file as HTML.

Text with another look than most of the paragraph is in a `span`, code in a `code`, a link is an `a`, and anything that
is not text, such as a picture or a footnote mark, an `img`. Each has a number, by which the original is found again.
"""

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.office.alternates import alternates
from service.files.office.dialects import ASIDE, CODE, IN_MEMORY, PLAIN, Dialect, Look
from service.files.office.fields import TextualFields, is_simple_text, marks_in
from service.files.office.writing import Link, Object, Writing
from service.files.xml_text import Element

_DEEPEST: Final = 16
"""How deep the text in nested links, insertions and the like is searched for."""
_MOST_NAMES: Final = 20
"""The most namespaces that a run may declare: each piece of it that is kept declares them again."""

_MOST_NAMES_AROUND: Final = 100
"""The most namespaces in scope of a paragraph: lxml makes a table of all of them for each look at them."""


class Paragraph:
    """A paragraph, and its text as a paragraph of HTML.

    Fields that show no text may span paragraphs: `begun` of them are open before it; those still open at its end go on.
    """

    def __init__(self, element: Element, dialect: Dialect, fields: TextualFields, begun: int) -> None:
        self.begun = begun
        """The number of open fields that show no text, at the place up to which the paragraph has been read."""
        self.has_text = False
        self.weight = 0
        """Bytes of the looks of all its pieces of text, and of the namespaces that kept pieces declare again."""
        self._depth = 0
        self._names = element.nsmap
        if len(self._names) > _MOST_NAMES_AROUND:
            raise InvalidInputError(f"file: declares more than {_MOST_NAMES_AROUND} namespaces")
        self.element = element
        """The paragraph's element."""
        self._dialect = dialect
        self._fields = fields
        self._kept: list[Any] = []
        """The originals, by number: looks, holders, links, and lists of objects."""
        self._runs: list[Element] = []
        """The runs whose text was read."""
        self._first: list[Element] = []
        """Marks of fields that span paragraphs: they stay before the text, and those in `_last` after it."""
        self._last: list[Element] = []
        self.copy: Element | None = None
        """The same paragraph for older programs."""
        self._ends = [each for each in element if each.tag in dialect.ends]
        self._is_code = dialect.is_code(element)
        self._usual = self._current = self._most_frequent_look()
        self.html = f"<p>{''.join(self._read(element))}{self._turn_to(self._usual)}</p>"
        self._names = {}  # no longer needed: for all paragraphs of a file, the tables might not fit into memory

    @classmethod
    def all_of(cls, root: Element, dialect: Dialect) -> "list[Paragraph]":
        """Return the paragraphs of a part that have text; those with a copy for older programs only once."""
        found, fields, begun = dict[Element, Paragraph](), TextualFields(root), 0
        for element in root.iter(*dialect.paragraphs):
            found[element] = cls(element, dialect, fields, begun)
            begun = found[element].begun
        again = set[Element]()
        for choice, fallback in alternates(root, dialect.paragraphs):
            if [found[element].html for element in choice] == [found[element].html for element in fallback]:
                copied = {copy for element, copy in zip(choice, fallback, strict=True) if found[element].has_text}
                for element, copy in zip(choice, fallback, strict=True):
                    if copied.isdisjoint(copy.iterancestors(*dialect.paragraphs)):  # else copied with its ancestor
                        found[element].copy = copy
                again.update(fallback)
        return [each for element, each in found.items() if each.has_text and element not in again]

    def write(self, translation: str) -> None:
        """Replace the text by a translation of what is inside the `<p>` of `html`.

        Meanwhile, all that was in the paragraph is in another element there: out of the tree, lxml looks for the
        namespace of each element among those of all the others.
        """
        aside = etree.SubElement(self.element, ASIDE)
        self._put_all(aside)
        self.element.extend(self._first)
        Writing(self.element, self._dialect, self._usual, self._kept).write(translation)
        self.element.extend([*self._last, *self._ends])
        aside.clear()
        self.element.remove(aside)

    def write_copy(self) -> None:
        """Update the copy for older programs, if there is one; only after all paragraphs within it are written."""
        if self.copy is not None:
            self._dialect.empty(self.copy)
            begins = self._dialect.begins
            self.copy.extend(deepcopy(each) for each in self.element if each.tag not in begins)

    def _put_all(self, aside: Element) -> None:
        """Put all but what it begins with into another element, from the inside out."""
        holders = [self._dialect.inside(each) for each in self._kept if etree.iselement(each)]
        for parent in [*self._runs, *reversed(holders), self.element]:
            begins = self._dialect.begins if parent.tag != self._dialect.run else ()
            aside.extend([each for each in parent if each is not aside and each.tag not in begins])

    def _read(self, parent: Element) -> Iterator[str]:
        around = self._dialect.begins | self._dialect.ends
        yield from self._read_all([each for each in parent if each.tag not in around])

    def _read_all(self, children: list[Element]) -> Iterator[str]:
        field: list[Object] = []
        links, end = self._fields.whole(children), 0
        for place, child in enumerate(children):
            if place < end:
                continue
            before, self.begun = self.begun, max(0, self.begun + self._begun_fields(child))
            if before or self.begun:
                field.append(Object(child))
                if not self.begun:
                    yield self._object("img", field)
                    field = []
            elif place in links:
                shown, last = links[place]
                yield from self._waiting()
                yield from self._link(Link(children[place:shown], children[last]), self._read_all(children[shown:last]))
                end = last + 1
            elif self._fields.has_marks(child):
                self._put_mark(child)
            else:
                yield from self._waiting()
                yield from self._read_one(child)
        if field:
            yield self._object("img", field)

    def _put_mark(self, run: Element) -> None:
        """Keep the mark of a field that spans paragraphs: before all text, or, unless more text follows, after it."""
        if self._kept or self.has_text:
            self._last.append(run)
        else:
            self._first.append(run)

    def _waiting(self) -> Iterator[str]:
        """Yield the marks in `_last` as an object, since more follows, and they are not at the end after all."""
        if self._last:
            waiting, self._last = self._last, []
            yield self._object("img", [Object(each) for each in waiting])

    def _read_one(self, child: Element) -> Iterator[str]:
        dialect = self._dialect
        if child.tag == dialect.run:
            yield from self._run(child)
        elif self._holds_text(child) and self._depth < _DEEPEST:
            yield from self._link(child, self._read(dialect.inside(child)))
        elif child.tag not in dialect.passing:
            name = dialect.white.get(child.tag, "img")
            yield self._object(name, [Object(child)])

    def _link(self, kept: Link | Element, shown: Iterator[str]) -> Iterator[str]:
        yield f'{self._turn_to(self._usual)}<a id="{self._keep(kept)}">'
        self._depth += 1
        yield from shown
        self._depth -= 1
        yield f"{self._turn_to(self._usual)}</a>"

    def _run(self, run: Element) -> Iterator[str]:
        dialect, look = self._dialect, self._dialect.look_of(run)
        self._runs.append(run)
        names = self._own_names(run)
        declared = sum(IN_MEMORY + len(uri) for uri in names.values())
        children = [each for each in run if each.tag != dialect.look and each.tag not in dialect.passing]
        first, last = marks_in(children)
        for place, child in enumerate(children):
            self.weight += look.weight
            if first <= place <= last:
                self.weight += declared
                if place == first:
                    yield self._object("img", [Object(each, look, names) for each in children[first : last + 1]])
            elif dialect.says(child):
                yield from self._say(dialect.said(child), look)
            elif child.tag == dialect.ruby:
                yield from self._ruby(child)
            else:
                self.weight += declared
                name = dialect.white.get(child.tag, "img")
                yield self._object(name, [Object(child, look, names)])

    def _ruby(self, ruby: Element) -> Iterator[str]:
        """Yield the text that a ruby annotates."""
        dialect = self._dialect
        for run in ruby.iterfind(dialect.ruby_base):
            look = dialect.look_of(run)
            for text in run.iterfind(dialect.text):
                self.weight += look.weight
                yield from self._say(dialect.said(text), look)

    def _own_names(self, run: Element) -> Mapping[str | None, str]:
        """Return the namespaces that a run declares, but the paragraph does not."""
        names = {name: uri for name, uri in run.nsmap.items() if self._names.get(name) != uri}
        if len(names) > _MOST_NAMES:
            raise InvalidInputError(f"file: a run declares more than {_MOST_NAMES} namespaces")
        return names

    def _say(self, text: str, look: Look) -> Iterator[str]:
        self.has_text |= bool(text.strip()) and not self._is_code and look.tag != CODE
        parts = [text] if self._dialect.declares_space else text.split("\t")
        for number, part in enumerate(parts):
            if number:
                self.weight += look.weight
                yield self._object("hr", [Object(self._dialect.saying("\t"), look)])
            if part:
                yield self._turn_to(look) + html.escape(part, quote=False)

    def _turn_to(self, look: Look) -> str:
        """Return the tags for a change from the current look to another one."""
        if look.said == self._current.said:
            return ""
        closing = f"</{self._current.tag}>" if self._current.said != self._usual.said else ""
        self._current = look
        return closing if look.said == self._usual.said else f'{closing}<{look.tag} id="{self._keep(look)}">'

    def _object(self, name: str, objects: list[Object]) -> str:
        """Return the tag of objects: one that ends sentences must not be within a `span`, and none within code."""
        ended = "" if name == "img" and self._current.tag != CODE else self._turn_to(self._usual)
        return f'{ended}<{name} id="{self._keep(objects)}">'

    def _keep(self, what: Any) -> int:  # noqa: ANN401 - a look, an element, or several
        self._kept.append(what)
        return len(self._kept) - 1

    def _own_runs(self, parent: Element, depth: int = 0) -> Iterator[Element]:
        """Yield the runs of a paragraph and its holders, but not of text boxes, which have paragraphs of their own."""
        for child in parent:
            if child.tag == self._dialect.run:
                yield child
            elif self._holds_text(child) and depth < _DEEPEST:
                yield from self._own_runs(self._dialect.inside(child), depth + 1)

    def _holds_text(self, element: Element) -> bool:
        return element.tag in self._dialect.holders or is_simple_text(element)

    def _begun_fields(self, element: Element) -> int:
        """Return how many more fields without text begin than end in a run, or in an element that holds runs."""
        is_run = element.tag == self._dialect.run
        runs = [element] if is_run else self._own_runs(element) if self._holds_text(element) else ()
        return sum(map(self._fields.others_begun, runs))

    def _most_frequent_look(self) -> Look:
        count, looks = Counter[bytes](), dict[bytes, Look]()
        for run in chain.from_iterable(map(self._dialect.runs_of, self._own_runs(self.element))):
            look = self._dialect.look_of(run)
            if look.tag == CODE:
                continue
            looks[look.said] = look
            count[look.said] += sum(len(self._dialect.said(text)) for text in run.iterfind(self._dialect.text))
        return looks[count.most_common(1)[0][0]] if count else PLAIN
