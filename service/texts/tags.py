"""Split HTML or XML into tokens: text, tags, and what is not to be translated."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from html import unescape
from typing import Final
from xml.parsers import expat

from models.text.words import ENTITY
from service.errors import InvalidInputError
from service.texts.untranslated import is_around_code, is_code, says_no

_APART: Final = r"<!--(?: -?> | .*?--> | .*\Z ) | <!\[CDATA\[(?: .*?\]\]> | .*\Z ) | <![^>]*+(?: > | \Z )"
_INSTRUCTION: Final = r"<\?(?: .*?\?> | .*\Z )"
_PROGRAM: Final = (
    r"<\?[^>]*+(?: > | \Z ) | <(?P<element>script|style)(?=[\s/>])(?: .*?</(?P=element)[^>]*+(?: > | \Z ) | .*\Z )"
)
_EMPTY_PROGRAM: Final = r"""<(?:script|style)(?=[\s/])(?: [^<>"']++ | "[^"]*+" | '[^']*+' )*+(?<=/)>"""
"""A self-closing script or style, which only XML has: in HTML, all that follows would be part of it."""
_REST: Final = r"""(?P<rest>(?: =\s*+"[^"]*+(?: " | \Z ) | =\s*+'[^']*+(?: ' | \Z ) | = | [^>=]++ )*+)(?: > | \Z )"""
_FLAGS: Final = re.VERBOSE | re.DOTALL | re.IGNORECASE
_TAG: Final = rf"<(?P<closes>/?)(?P<name>[a-z][^\s/>]*+){_REST}"
_HTML: Final = re.compile(rf"(?P<apart>{_APART} | {_PROGRAM} ) | {_TAG}", _FLAGS | re.ASCII)
"""An unclosed token goes on to the end, as in browsers, which also keeps the time linear in the text's length."""
_XHTML: Final = re.compile(rf"(?P<apart>{_APART} | {_EMPTY_PROGRAM} | {_PROGRAM} ) | {_TAG}", _FLAGS | re.ASCII)
_XML: Final = re.compile(
    rf"(?P<apart>{_APART} | {_INSTRUCTION} ) | <(?P<closes>/?)(?P<name>(?:[^\W\d]|:)[^\s/>]*+){_REST}", _FLAGS
)
_DOCUMENT: Final = re.compile(
    r"\s*+(?: <\?xml\s | (?: (?: <!--(?>.*?-->) | <\?(?>.*?\?>) ) \s*+ )*+ <!DOCTYPE\b )", _FLAGS
)
"""The beginning of a whole document; any other text is a part of one, which may have text beside several elements."""
_ENDS_ALONE: Final = re.compile(r"""(?:^|[\s"'])/$""")
"""The end of a self-closing tag's attributes; in HTML, <a href=http://example.org/> is not self-closing."""
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_ENDED_BY_THE_NEXT: Final = frozenset(("dd", "dt", "li", "option", "p", "td", "th", "tr"))
"""Elements of HTML that need no end tag."""
_LISTS: Final = ("dl", "ol", "select", "table", "ul")
_READINGS: Final = frozenset(("rt", "rp", "rtc"))
_OF_RUBIES: Final = frozenset(("rb", "rbc"))
_LONGEST_RUBY: Final = 100
"""The most tokens within a ruby; one that is not closed by then is left as it is."""
_OF_NOTES: Final = frozenset(("a", "sup"))
_IN_NOTES: Final = _OF_NOTES | {"", "b", "em", "font", "i", "small", "span", "strong"}
_NOTE: Final = re.compile(
    r"\s*+[^\w\s]{0,3}(?:(?:注釈?|註|note) ?)?(?:[0-9]{1,3}|[ivx]{1,6}|[a-z])[^\w\s]{0,3}\s*+|[*†‡]{1,3}"
)
"""What a text has where it refers to a note."""
_REFERS: Final = re.compile("(?:end|foot)note|noteref|_edn|_ftn", re.IGNORECASE)
"""What the tag of a link to a note says, if it is not raised."""
_LONGEST_NOTE: Final = 16
"""The most tokens of such a link."""
ENTITIES: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)
"""No longer ones: Python refuses to read a number of thousands of digits."""
_OF_PROGRAMS: Final = frozenset(("code", "kbd", "math", "samp", "svg", "tt", "var"))


class Kind(Enum):
    """The kind of a token."""

    TEXT = auto()
    OPENS = auto()
    CLOSES = auto()
    ALONE = auto()
    """A tag without a partner."""
    APART = auto()
    """Neither text nor a tag: a comment or a script."""
    IGNORED = auto()
    """An element that is not to be translated, with its tags."""
    NOTE = auto()
    """A reference to a note, with its tags."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a text, verbatim, and the name of its element."""

    kind: Kind
    raw: str
    name: str = ""


def html_tokens(text: str, ignored: AbstractSet[str], *, xhtml: bool = False) -> list[Token]:
    """Split a text in HTML, in which nothing is an error, without ruby annotations (how words are pronounced)."""
    found = list(_tokens(text, _XHTML if xhtml else _HTML))
    tokens = list(_without_ignored(found, ignored | _OF_PROGRAMS, html=True))
    return list(_with_notes(list(_without_readings(tokens))))


def html_tags(text: str) -> Iterator[Token]:
    """Split a text in HTML into single tokens, without merging or dropping any as `html_tokens` does."""
    return _tokens(text, _HTML)


def xml_tokens(text: str, ignored: AbstractSet[str]) -> list[Token]:
    """Split a text in XML, which is a document or a part of one.

    Raises:
        InvalidInputError: it is not well-formed, or declares elements or entities of its own.
    """
    _check_well_formed(text)
    return list(_without_ignored(list(_tokens(text, _XML)), ignored, html=False))


def without_entities(text: str) -> str:
    """Return a text with the characters that its entities stand for."""
    return ENTITIES.sub(lambda entity: unescape(entity[0]), text)


def _check_well_formed(text: str) -> None:
    text = text.removeprefix("\ufeff")
    part = _DOCUMENT.match(text) is None
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _check_doctype
    try:
        parser.Parse(f"<text>\n{text}</text>" if part else text, True)
    except expat.ExpatError as error:
        place = f"line {error.lineno - part}, column {error.offset + 1}"
        raise InvalidInputError(
            f"tag_handling is xml, but a text is not well-formed: {expat.ErrorString(error.code)}, {place}"
        ) from None


def _check_doctype(_name: str, _system: str | None, _public: str | None, declares: int) -> None:
    if declares:
        raise InvalidInputError("tag_handling is xml, but a text declares its own elements or entities")


def _tokens(text: str, syntax: re.Pattern[str]) -> Iterator[Token]:
    end = 0
    for found in syntax.finditer(text):
        if end < found.start():
            yield Token(Kind.TEXT, text[end : found.start()])
        yield _token(found, syntax)
        end = found.end()
    if end < len(text):
        yield Token(Kind.TEXT, text[end:])


def _token(found: re.Match[str], syntax: re.Pattern[str]) -> Token:
    if found["apart"] is not None:
        return Token(Kind.APART, found[0])
    name = _name(found["name"], syntax)
    if found["closes"]:
        return Token(Kind.CLOSES, found[0], name)
    alone = _ENDS_ALONE.search(found["rest"]) or (syntax is not _XML and name in _VOID)
    return Token(Kind.ALONE if alone else Kind.OPENS, found[0], name)


def _name(said: str, syntax: re.Pattern[str]) -> str:
    """Return an element's name; a prefix in XHTML, as in `<m:math>`, only says that it is HTML or MathML."""
    if syntax is _XML:
        return said
    return (said.rpartition(":")[2] if syntax is _XHTML else said).lower()


def _without_ignored(tokens: Sequence[Token], ignored: AbstractSet[str], *, html: bool) -> Iterator[Token]:
    """Merge each element that is not to be translated into one token; an unclosed one goes on to the end."""
    inside: list[Token] = []
    still_open = Counter[str]()
    around = Token(Kind.TEXT, "")
    for token in tokens:
        if inside and html and _is_behind(token, inside[0].name, still_open):
            yield _ignored(inside)
            inside, still_open = [], Counter()
        begins = token.kind is Kind.OPENS and (token.name in ignored or (html and _is_for_nobody(token, around)))
        around = around if token.raw.isspace() else token
        if not inside and not begins:
            yield token
            continue
        inside.append(token)
        still_open[token.name] += {Kind.OPENS: 1, Kind.CLOSES: -1}.get(token.kind, 0)
        if still_open[inside[0].name] == 0:
            yield _ignored(inside)
            inside, still_open = [], Counter()
    if inside:
        yield _ignored(inside)


def _is_behind(token: Token, name: str, still_open: Counter[str]) -> bool:
    """Return whether an element of HTML has ended before a token, without an end tag."""
    if token.kind is Kind.CLOSES:
        return still_open[token.name] <= 0
    again = token.kind is Kind.OPENS and token.name == name and name in _ENDED_BY_THE_NEXT
    return again and not any(still_open[each] for each in _LISTS)


def _without_readings(tokens: Sequence[Token]) -> Iterator[Token]:
    """Keep only the base text of rubies: how it is pronounced is of no use in another language."""
    place = 0
    while place < len(tokens):
        end = _end_of_ruby(tokens, place)
        if end is None:
            yield tokens[place]
        else:
            yield from _read_so(tokens[place + 1 : end])
            place = end
        place += 1


def _end_of_ruby(tokens: Sequence[Token], place: int) -> int | None:
    """Return where a ruby that begins at `place` ends; None if none does, or it is not closed soon."""
    if tokens[place].name != "ruby" or tokens[place].kind is not Kind.OPENS:
        return None
    behind = tokens[place + 1 : place + 1 + _LONGEST_RUBY]
    end = next((number for number, token in enumerate(behind, place + 1) if token.name == "ruby"), None)
    return end if end is not None and tokens[end].kind is Kind.CLOSES else None


def _read_so(ruby: Iterable[Token]) -> Iterator[Token]:
    reading = False
    for token in ruby:
        if token.name in _READINGS:
            reading = token.kind is Kind.OPENS
        elif token.name in _OF_RUBIES:
            reading = False
        elif not reading:
            yield token


def _with_notes(tokens: Sequence[Token]) -> Iterator[Token]:
    """Merge each reference to a note, such as `<sup><a href="#n1">[1]</a></sup>`, into one token."""
    place = 0
    while place < len(tokens):
        end = _end_of_note(tokens, place)
        if end is None:
            yield tokens[place]
        else:
            yield Token(Kind.NOTE, "".join(token.raw for token in tokens[place:end]), "sup")
        place = end or place + 1


def _end_of_note(tokens: Sequence[Token], place: int) -> int | None:
    """Return the place behind a reference to a note that begins at `place`; None if none does."""
    first = tokens[place]
    if first.kind is not Kind.OPENS or first.name not in _OF_NOTES:
        return None
    behind = enumerate(tokens[place + 1 : place + _LONGEST_NOTE], place + 2)
    end = next((end for end, token in behind if token.kind is Kind.CLOSES and token.name == first.name), place)
    inside = tokens[place:end]
    names = {token.name for token in inside}
    is_link = names >= _OF_NOTES or (first.name == "a" and any(_REFERS.search(token.raw) for token in inside))
    said = without_entities("".join(token.raw for token in inside if token.kind is Kind.TEXT))
    return end if is_link and names <= _IN_NOTES and _NOTE.fullmatch(said) else None


def _is_for_nobody(token: Token, around: Token) -> bool:
    """Return whether a page says that an element, behind the token `around`, is not to be translated, or has code."""
    if says_no(token.raw):
        return True
    return token.name == "pre" and (is_code(token.raw) or (around.kind is Kind.OPENS and is_around_code(around.raw)))


def _ignored(tokens: Sequence[Token]) -> Token:
    return Token(Kind.IGNORED, "".join(token.raw for token in tokens), tokens[0].name)
