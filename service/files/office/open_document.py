"""Convert the text of OpenDocument files to runs, as other office files have it, and back (ODF 1.3, part 3, section 6).

OpenDocument has text directly in paragraphs, and text with another look in a `span` that names a style. A run, here,
holds text, or one element that is not text, together with the spans that were around it.
"""

import re
from collections.abc import Container
from copy import deepcopy
from typing import Any, Final

from lxml import etree

from service.errors import InvalidInputError
from service.files.office import open_references
from service.files.office.dialects import ASIDE, IN_MEMORY, Dialect, check_looks
from service.files.xml_text import Element, add_text

OFFICE, STYLE, _TEXT, _FO = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "style", "text", "xsl-fo-compatible")
)
_LIBRE: Final = "{http://openoffice.org/2009/office}"
_RUN, _LOOK, _SAYS = "run", "look", "text"  # without a namespace, unlike anything in such a file
PARAGRAPHS: Final = (_TEXT + "p", _TEXT + "h")
_SPAN, _SPACES, _COUNT, _RUBY, _RUBY_BASE, _STYLE_NAME = (
    _TEXT + name for name in ("span", "s", "c", "ruby", "ruby-base", "style-name")
)
_LOEXT: Final = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}"
_HOLDERS: Final = frozenset((_TEXT + "a", _TEXT + "meta", _LOEXT + "content-control"))
"""The last one is LibreOffice's form field, which begins with the items to choose from."""
_BEGINS: Final = frozenset((OFFICE + "event-listeners", _TEXT + "number", _LOEXT + "list-item"))
_NOT_READ: Final = (_TEXT + "tracked-changes", OFFICE + "annotation")
"""Elements with deleted paragraphs, and with comments."""
_TITLE_TEMPLATE: Final = _TEXT + "index-title-template"
_INDEXES: Final = tuple(
    _TEXT + name
    for name in (
        *("alphabetical-index", "bibliography", "illustration-index", "object-index"),
        *("table-index", "table-of-content", "user-index"),
    )
)
_WHITE: Final = re.compile(r"[ \t\r\n]+")
_MOST_SPACES: Final = 32
"""The most consecutive spaces that count as text; more are layout, and could be any number."""
_MOST_PIECES: Final = 100_000
"""The most pieces of text, or between text, in a part: one tag makes a piece, where other formats need several."""
_SEPARATED: Final = re.compile(r"( +)")
_UNSEEN: Final = frozenset(
    (
        *(f"{_LIBRE}{name}" for name in ("rsid", "paragraph-rsid")),
        *(f"{_FO}{name}" for name in ("language", "country", "script")),
        *(f"{STYLE}{name}" for name in ("rfc-language-tag", "rfc-language-tag-asian", "rfc-language-tag-complex")),
        *(f"{STYLE}{name}-{of}" for name in ("language", "country", "script") for of in ("asian", "complex")),
    )
)
"""Properties of text that make no visible difference: its language, and when it was written."""

OPEN_DOCUMENT: Final = Dialect(
    paragraphs=PARAGRAPHS,
    run=_RUN,
    text=_SAYS,
    look=_LOOK,
    begins=_BEGINS,
    white={_TEXT + "tab": "hr", _TEXT + "line-break": "br"},
    unseen=frozenset(),
    holders=_HOLDERS,
    passing=frozenset({_TEXT + "soft-page-break"}),
    look_style=(_SPAN, _STYLE_NAME),
    paragraph_style=(".", _STYLE_NAME),
    declares_space=True,
)


def into_runs(root: Element, only: Container[Element] | None = None) -> None:
    """Convert the text of a part's paragraphs to runs: of all of them, or of those in `only`.

    Raises:
        InvalidInputError: the runs are too many, or their looks take too many bytes.
    """
    reading = _Reading(_Styles(root))
    for paragraph in root.iter(*PARAGRAPHS):
        is_read = only is None or paragraph in only
        if is_read and next(paragraph.iterancestors(*_NOT_READ), None) is None:
            reading.paragraph(paragraph)


def out_of_runs(root: Element) -> None:
    """Convert runs back to text and spans, and update what repeats the text elsewhere."""
    for parent in {run.getparent(): None for run in root.iterdescendants(_RUN)}:
        _Writing(parent).write()
    for template in root.iter(_TITLE_TEMPLATE):
        _entitle(template)
    open_references.update(root)


def _entitle(template: Element) -> None:
    """Have an index keep its translated title when a program updates the index, as from a template."""
    index = next(template.iterancestors(*_INDEXES), None)
    title = None if index is None else index.find(f"{_TEXT}index-body/{_TEXT}index-title/{_TEXT}p")
    if title is not None:
        template.text = "".join(title.itertext())


class _Styles:
    """The automatic text styles of a part; several names may stand for the same look, or for no visible one."""

    def __init__(self, root: Element) -> None:
        named = dict[tuple[Any, ...], str]()
        self._same: dict[str, str | None] = {}
        for style in root.iterfind(f"{OFFICE}automatic-styles/{STYLE}style[@{STYLE}family='text']"):
            name, said = style.get(STYLE + "name", ""), self._said(style)
            self._same[name] = named.setdefault(said, name) if said else None

    @staticmethod
    def _said(style: Element) -> tuple[Any, ...]:
        """Return the visible properties of a style; empty if it has none."""
        unseen = _UNSEEN | {STYLE + "name", STYLE + "family"}
        said = [
            (each.tag, *sorted((name, value) for name, value in each.attrib.items() if name not in unseen))
            for each in style.iter()
        ]
        return tuple(each for each in said if len(each) > 1)

    def of(self, span: Element) -> Element | None:
        """Return an empty span with the same look; None if the look makes no visible difference."""
        name = span.get(_STYLE_NAME)
        same = self._same.get(name, name)
        if same is None:
            return None
        again = etree.Element(_SPAN, span.attrib)
        again.set(_STYLE_NAME, same)
        return again


class _Reading:
    """Converts the text of paragraphs to runs."""

    def __init__(self, styles: _Styles) -> None:
        self._styles = styles
        self._after_space = True
        self._pieces = 0
        self._weight = 0
        """Bytes of the spans around all runs."""

    def paragraph(self, paragraph: Element) -> None:
        """Replace the content of a paragraph by runs.

        Raises:
            InvalidInputError: the paragraphs so far have too many pieces of text, or looks of too many bytes.
        """
        self._after_space = True
        self._read(paragraph, ())

    def _read(self, parent: Element, around: tuple[Element, ...]) -> None:
        """Replace its content, which is meanwhile in another element there: see `Paragraph.write`."""
        content = list(parent)
        aside = etree.SubElement(parent, ASIDE)
        aside.text, parent.text = parent.text, None
        aside.extend(content)
        self._add_content(aside, parent, around)
        parent[:0] = [each for each in content if each.tag in _BEGINS]
        aside.clear()
        parent.remove(aside)

    def _add_content(self, parent: Element, to: Element, around: tuple[Element, ...]) -> None:
        self._add_text(parent.text, to, around)
        for child in list(parent):
            behind, child.tail = child.tail, None
            if child.tag == _SPAN:
                own = self._styles.of(child)
                self._add_content(child, to, around if own is None else (*around, own))
            elif child.tag == _RUBY:
                for base in child.iterfind(_RUBY_BASE):
                    self._add_content(base, to, around)
            elif child.tag in _HOLDERS:
                self._read(child, around)
                to.append(child)
            elif child.tag not in _BEGINS:
                self._add_other(child, to, around)
            self._add_text(behind, to, around)

    def _add_text(self, text: str | None, to: Element, around: tuple[Element, ...]) -> None:
        """Append a run with text, in which white space is collapsed, and dropped at the beginning."""
        said = _WHITE.sub(" ", text or "")
        said = said.removeprefix(" ") if self._after_space else said
        if said:
            self._after_space = said.endswith(" ")
            self._add_run(OPEN_DOCUMENT.saying(said), to, around)

    def _add_other(self, element: Element, to: Element, around: tuple[Element, ...]) -> None:
        self._after_space = False
        count = element.get(_COUNT, "1")
        if element.tag == _SPACES and count.isdecimal() and int(count[:9]) <= _MOST_SPACES:
            element = OPEN_DOCUMENT.saying(" " * int(count))
        self._add_run(element, to, around)

    def _add_run(self, content: Element, to: Element, around: tuple[Element, ...]) -> None:
        """Append a run of an element and the spans around it; without any, an element that is no text needs no run."""
        said = [value for span in around for value in span.attrib.values()]
        self._weight += len(around) * len(_SPAN) + len(said) * IN_MEMORY + sum(map(len, said))
        check_looks(self._weight)
        self._pieces += 1
        if self._pieces > _MOST_PIECES:
            raise InvalidInputError(f"file: its text is in more than {_MOST_PIECES} pieces")
        if not around and content.tag != _SAYS:
            to.append(content)
            return
        run = etree.SubElement(to, _RUN)
        if around:
            etree.SubElement(run, _LOOK).extend(deepcopy(each) for each in around)
        run.append(content)


class _Writing:
    """Converts the runs of a paragraph, or of a link, back to text and spans."""

    def __init__(self, parent: Element) -> None:
        self._parent = parent
        self._spans: list[Element] = []
        """The open spans, from the outside in."""
        self._after_space = True

    def write(self) -> None:
        """Convert all of them, which are meanwhile in another element there: see `Paragraph.write`."""
        content = list(self._parent)
        aside = etree.SubElement(self._parent, ASIDE)
        aside.extend(content)
        for each in content:
            if each.tag == _RUN:
                self._write(each)
            else:
                self._turn_to([])
                self._append(each)
        self._parent.text, aside.tail = aside.tail, None
        aside.clear()
        self._parent.remove(aside)

    def _write(self, run: Element) -> None:
        look = run.find(_LOOK)
        self._turn_to([] if look is None else list(look))
        for each in [each for each in run if each.tag != _LOOK]:
            if each.tag == _SAYS:
                self._say(each.text or "")
            else:
                self._append(each)

    def _turn_to(self, spans: list[Element]) -> None:
        """Open these spans for what follows, and close all others."""
        pairs = zip(self._spans, spans, strict=False)
        same = next((place for place, (a, b) in enumerate(pairs) if a.attrib != b.attrib), None)
        kept = min(len(self._spans), len(spans)) if same is None else same
        del self._spans[kept:]
        for span in spans[kept:]:
            opened = etree.SubElement(self._innermost, _SPAN, span.attrib)
            self._spans.append(opened)

    @property
    def _innermost(self) -> Element:
        return self._spans[-1] if self._spans else self._parent

    def _say(self, text: str) -> None:
        """Append text; spaces that would be collapsed are written as elements."""
        said = list[str]()
        for part in filter(None, _SEPARATED.split(text)):
            spaces = len(part) if part.startswith(" ") else 0
            if not spaces:
                said.append(part)
                self._after_space = False
                continue
            if not self._after_space:
                said.append(" ")
                spaces -= 1
            if spaces:
                add_text(self._innermost, "".join(said))
                said = []
                self._append(etree.Element(_SPACES, {_COUNT: str(spaces)} if spaces > 1 else {}))
            self._after_space = True
        add_text(self._innermost, "".join(said))

    def _append(self, element: Element) -> None:
        self._innermost.append(element)
        self._after_space = True
