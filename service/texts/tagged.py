"""Turn a text in HTML or XML into sentences with simple, numbered tags that models can handle, and back."""

import html
import html.entities
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, count, groupby
from typing import Final, Literal

from models.text.spacing import gap_of, in_place_of_line_break
from models.text.words import ENTITY, has_words
from service.segmentation.splitting import Segmented
from service.texts.tags import ENTITIES, Kind, Token, html_tokens, xml_tokens

_BLOCK: Final = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset"
    "|figcaption|figure|footer|form|frameset|h[1-6]|head|header|hgroup|hr|html|iframe|label|legend|li|link|main|menu|meta"
    "|nav|noframes|noscript|ol|optgroup|option|p|pre|section|select|summary|table|tbody|td|template|textarea|tfoot|th|thead"
    "|title|tr|ul"
)
"""Elements of HTML at whose tags sentences end."""
_ATTRIBUTE: Final = "n"
_LINES: Final = {(kind, name): by for kind, by in ((Kind.OPENS, 1), (Kind.CLOSES, -1)) for name in ("pre", "textarea")}
"""The tags that begin and end elements in which line breaks are significant."""
_NAME: Final = re.compile(r"[a-z][a-z0-9:-]*")
_OLD_ENTITIES: Final = "|".join(name for name in html.entities.html5 if not name.endswith(";"))
_BARE: Final = {
    "html": re.compile(rf"(?!{ENTITY}|&(?:{_OLD_ENTITIES}))& | <", re.VERBOSE | re.ASCII),
    "xml": re.compile(r"&(?!(?: amp | lt | gt | quot | apos | \#[0-9]+ | \#x[0-9A-Fa-f]+ );) | <", re.VERBOSE),
}
"""Bare & and < that have to be escaped, as they begin no entity; browsers know some entities without a semicolon."""
_LINE_BREAK: Final = r"(?<![ \t])[ \t]*+[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\s*+"
"""Line breaks of any kind: sentences end at each, where line breaks are significant."""
_BETWEEN_WORDS: Final = re.compile(rf"(</?[a-z][a-z0-9:-]*+ {_ATTRIBUTE}[0-9]*+=\"[0-9]+\"/?>|{_LINE_BREAK})")
"""Numbered tags, and line breaks."""
_IN_PLACE_OF_CODE: Final = "<x "
"""The beginning of the tag that stands for an element that is not translated."""


@dataclass(frozen=True, slots=True)
class Markup:
    """How a client wants the tags in its texts to be treated."""

    kind: Literal["html", "xml"]
    ignored: frozenset[str] = frozenset()
    """Elements that are not translated."""
    splitting: frozenset[str] = frozenset()
    """Elements at which sentences end, besides those that are found automatically."""
    joining: frozenset[str] = frozenset()
    """Elements that never end a sentence."""
    outline: bool = True
    """Whether to find the elements of XML at which sentences end: those that never stand beside text."""
    xhtml: bool = False
    """Whether HTML is XML as well, in which a self-closing script is empty."""

    def read(self, text: str, language: str, *, join_lines: bool, taken: str = "") -> "Tagged":
        """Divide a text at the tags at which sentences end; with `join_lines`, a line break counts as a space only.

        The numbered tags are chosen such that they do not occur in `taken`: other text that translations may contain.

        Raises:
            InvalidInputError: the text should be XML, but is not well-formed.
        """
        gap = gap_of(language) if join_lines else None
        if self.kind == "xml":
            tokens = xml_tokens(text, self.ignored)
            names = (_outline(tokens) if self.outline else frozenset()) | self.splitting
            return _tagged(tokens, (names - self.joining).__contains__, text + taken, gap, self.kind)
        ignored, splitting, joining = map(_lowered, (self.ignored, self.splitting, self.joining))

        def splits(name: str) -> bool:
            return name not in joining and (is_block(name) or name in splitting)

        return _tagged(html_tokens(text, ignored, xhtml=self.xhtml), splits, text + taken, gap, self.kind)


HTML: Final = Markup("html")
"""HTML with the default treatment."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A text in blocks, with numbered tags, and the raw text around the blocks (`around` has one element more)."""

    blocks: tuple[str, ...]
    around: tuple[str, ...]
    tags: tuple[str, ...]
    """The original tags within blocks, indexed by their numbers."""
    attribute: str
    kind: Literal["html", "xml"]

    def segmented(self, blocks: Sequence[Segmented]) -> Segmented:
        """Merge the blocks' sentences, with numbered tags, and everything between them, with the original ones."""
        sentences = chain.from_iterable(block.sentences for block in blocks)
        separators, between = list[str](), [self.around[0]]
        for block, behind in zip(blocks, self.around[1:], strict=True):
            first, *others = map(self._original, block.separators)
            between.append(first)
            for other in others:
                separators.append("".join(between))
                between = [other]
            between.append(behind)
        return Segmented(tuple(sentences), (*separators, "".join(between)))

    def restored(self, translation: str) -> str:
        """Return a sentence's translation with the original tags, and with bare & and < escaped."""
        parts = re.split(rf"(</?[a-z][a-z0-9:-]* {self.attribute}=\"[0-9]+\"/?>)", translation)
        parts[::2] = (_BARE[self.kind].sub(lambda found: html.escape(found[0]), part) for part in parts[::2])
        return self._original("".join(parts))

    def _original(self, text: str) -> str:
        tag = rf"</?[a-z][a-z0-9:-]* {self.attribute}=\"([0-9]+)\"/?>"
        return re.sub(tag, lambda found: self.tags[int(found[1])], text)


def _tagged(
    tokens: Iterable[Token], splits: Callable[[str], bool], taken: str, gap: str | None, kind: Literal["html", "xml"]
) -> Tagged:
    used = set(re.findall(rf" ({_ATTRIBUTE}[0-9]*)=", taken))
    attribute = next(name for name in (f"{_ATTRIBUTE}{number or ''}" for number in count()) if name not in used)
    numbering = _Numbering(attribute)
    blocks, around = list[str](), list[str]()
    lines = 0
    for splitting, some in groupby(tokens, key=lambda token: token.kind is not Kind.TEXT and splits(token.name)):
        if splitting:
            tags = list(some)
            around.append("".join(token.raw for token in tags))
            for token in tags:  # an end tag without a start tag does not count
                lines = max(0, lines + _LINES.get((token.kind, token.name), 0))
        else:
            around += [""] * (len(around) == len(blocks))
            block = "".join(map(numbering.read, some))
            blocks.append(lines_joined(block, gap) if gap is not None and not lines and has_words(block) else block)
    around += [""] * (len(around) == len(blocks))
    return Tagged(tuple(blocks), tuple(around), tuple(numbering.tags), attribute, kind)


def is_block(name: str) -> bool:
    """Return whether sentences end at the tags of an HTML element."""
    return _BLOCK.fullmatch(name) is not None


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _outline(tokens: Iterable[Token]) -> frozenset[str]:
    """Find the elements of XML at which sentences end: those that never stand beside text."""
    names, beside_text = set[str](), set[str]()
    still_open = [_Content()]
    for token in tokens:
        if token.kind is Kind.TEXT:
            still_open[-1].has_text |= bool(token.raw.strip())
        elif token.kind is Kind.CLOSES and len(still_open) > 1:
            beside_text |= still_open.pop().beside_text
        elif token.kind in {Kind.OPENS, Kind.ALONE, Kind.IGNORED}:
            names.add(token.name)
            still_open[-1].names.add(token.name)
            still_open += [_Content()] * (token.kind is Kind.OPENS)
    return frozenset(names.difference(beside_text, *(content.beside_text for content in still_open)))


class _Content:
    """What an element directly contains."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.has_text = False

    @property
    def beside_text(self) -> set[str]:
        return self.names if self.has_text else set()


class _Numbering:
    """Writes tags in one simple form, each with a number."""

    def __init__(self, attribute: str) -> None:
        self.tags: list[str] = []
        self._attribute = attribute
        self._names: dict[str, str] = {}

    def read(self, token: Token) -> str:
        if token.kind is Kind.TEXT:
            return ENTITIES.sub(_letters, token.raw)
        name = {Kind.APART: "wbr", Kind.IGNORED: "x"}.get(token.kind) or self._name(token.name)
        closes, alone = token.kind is Kind.CLOSES, token.kind not in {Kind.OPENS, Kind.CLOSES}
        self.tags.append(token.raw)
        return f'<{"/" * closes}{name} {self._attribute}="{len(self.tags) - 1}"{"/" * alone}>'

    def _name(self, name: str) -> str:
        return name if _NAME.fullmatch(name) else self._names.setdefault(name, f"t{len(self._names)}")


def _letters(found: re.Match[str]) -> str:
    """Replace an entity that is a letter, so that its word is seen as one; not characters of tags or entities.

    Invisible format characters, such as a soft hyphen, are replaced as well: the model ignores them within a word.
    """
    said = html.unescape(found[0])
    is_letter = said.isalnum() and not said.isascii()
    return said if is_letter or (len(said) == 1 and unicodedata.category(said) == "Cf") else found[0]


def lines_joined(text: str, gap: str) -> str:
    """Put a text on one line, except for the white space around it; Latin words stay apart, whatever the gap."""
    core = text.strip()
    start = text.index(core)
    parts = _BETWEEN_WORDS.split(core)
    words = [part if number % 2 == 0 else "x" * part.startswith(_IN_PLACE_OF_CODE) for number, part in enumerate(parts)]
    before = list(accumulate((word[-1:] for word in words), _nearest))
    after = list(accumulate((word[:1] for word in reversed(words)), _nearest))[::-1]
    for number in range(1, len(parts), 2):
        if not parts[number].startswith("<"):
            parts[number] = in_place_of_line_break(gap, before[number], after[number])
    return f"{text[:start]}{''.join(parts)}{text[start + len(core) :]}"


def _nearest(farther: str, nearer: str) -> str:
    return nearer or farther
