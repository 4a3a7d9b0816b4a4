"""Join the separate texts of a program's file into one page of HTML, and take the translated page apart again.

A text with well-formed tags or with entities is taken as HTML, as is one that begins as labels of Swing in HTML do, in
which hardly anybody closes anything; in any other text, tags are ordinary characters.
"""

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from models.text.words import ENTITY, REFERENCE
from service.texts.tagged import is_block
from service.texts.tags import Kind, Token, html_tags

_WITHOUT_TAGS: Final = frozenset(
    ("iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp")
)
"""Elements of HTML in which tags are not recognised."""
_READ_AS_A_WHOLE: Final = ("code", "kbd", "math", "pre", "ruby", "samp", "svg", "textarea", "tt", "var")
"""Elements that would go on in the next text if they were not closed."""
_NUMBER: Final = re.compile(r"(</?)(?=\d)")
"""The beginning of tags whose names are numbers, as in React (`<0>…</0>`) but not in HTML."""
_LETTER: Final = "t-"
_LETTERED: Final = re.compile(rf"(</?){_LETTER}(?=\d)")
_PART: Final = r"(?<=[^|'])(?=\|(?! ?-?[0-9.]++(?:#|<|&lt;))[^|'])(?![^{}]{0,120}+\})"
"""Before each part of a text with parts: Vue and Laravel have one for each plural form, page titles one for each page.

A | in braces belongs to a placeholder; so does one before a number with # or <: `{0,choice,0#none|1#one|1<{0}}`.
"""
_KEPT: Final = rf"(?P<kept>(?x:{REFERENCE}))"
"""What has a | on both sides in reStructuredText, as in texts of Sphinx."""
_LINE: Final = re.compile(rf"{_KEPT}|(?<![\r\n])(?=[\r\n])|{_PART}", re.ASCII)
_LINE_BESIDE_TAGS: Final = re.compile(rf"{_KEPT}|(?<![\r\n])(?=[\r\n]++(?![ \t]))|{_PART}", re.ASCII)
"""Where a line ends, unless the next one is indented: in HTML source, such line breaks mean nothing."""
_OF_ICU: Final = re.compile(r"\{\s*+\w++\s*+,\s*+(?:choice|plural|select|selectordinal)\s*+,")
_BRACE: Final = re.compile("[{}]")
_END_OF_CHOICE: Final = "</code>"
_ENTITY: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_AND: Final = "&amp;"
_COMMENT: Final = re.compile(r"<!--[^<]*-->")
_DEEPER: Final = {Kind.OPENS: 1, Kind.CLOSES: -1}
_NEXT: Final = "<hr>"
"""Stands for what follows a text, into which an unclosed tag would go on."""


class Page:
    """Puts the texts of a file on one page, with separators and line breaks that occur in no text."""

    def __init__(self, content: bytes) -> None:
        number = hashlib.sha256(content).hexdigest()[:16]
        self.between: Final = f'<hr id="{number}"/>'
        """Separates texts: it ends a sentence, and is not translated."""
        self._line: Final = f'<br id="{number}">'
        self._choice: Final = f'<code id="{number}">'

    def html_of(self, text: str) -> str:
        """Return a text as a part of the page."""
        if not _is_html(text):
            return "".join(self._escaped(text))
        tokens = list(html_tags(_lettered(text)))
        if any(is_block(token.name) for token in tokens):
            return _lettered(text)
        return "".join(
            _LINE_BESIDE_TAGS.sub(self._broken, token.raw) if token.kind is Kind.TEXT else token.raw for token in tokens
        )

    def text_of(self, part: str, text: str) -> str:
        """Turn `part`, the translated result of `html_of` for a text, into such a text."""
        part = part.replace(self._line, "")
        if not _is_html(text):
            return html.unescape(part.replace(self._choice, "").replace(_END_OF_CHOICE, ""))
        # A text with tags need not have entities: React shows &amp; literally.
        part = part.replace(_AND, "&") if "&" in text and _AND not in text else part
        return _LETTERED.sub(r"\1", part)

    def _broken(self, found: re.Match[str]) -> str:
        """Return a line break for where a line or a part ends; what is kept stays."""
        return found["kept"] or self._line

    def _escaped(self, text: str) -> Iterator[str]:
        """Escape a text; each choice of ICU is one word, for programs, whatever choices, lines and sentences it has."""
        for words, choice in split_at_choices(html.escape(text, quote=False)):
            yield _LINE.sub(self._broken, words)
            yield f"{self._choice}{choice}{_END_OF_CHOICE}" if choice else ""


def page_of(texts: Sequence[str], content: bytes) -> str:
    """Return the texts of a file as one page, one after the other."""
    page = Page(content)
    return page.between.join(map(page.html_of, texts))


def texts_of(translation: str, texts: Sequence[str], content: bytes) -> list[str]:
    """Split a translated page of these texts; there are as many translations as texts."""
    page = Page(content)
    parts = translation.split(page.between) if texts else []
    return [page.text_of(part, text) for part, text in zip(parts, texts, strict=True)]


def edges_of(text: str) -> tuple[str, str, str]:
    """Split a text into the white space before it, its words, and the white space after it."""
    words = text.strip()
    start = text.index(words)
    return text[:start], words, text[start + len(words) :]


def split_at_choices(escaped: str) -> Iterator[tuple[str, str]]:
    """Yield the words of an escaped text, and the choice of ICU behind each, which is empty at the end."""
    ends, done = _ends_of_braces(escaped), 0
    for found in _OF_ICU.finditer(escaped):
        start = found.start()
        if start >= done and (end := ends.get(start)):
            yield escaped[done:start], escaped[start:end]
            done = end
    yield escaped[done:], ""


def _ends_of_braces(text: str) -> dict[int, int]:
    """Return where what is in braces ends, by where it begins."""
    opened, ends = list[int](), dict[int, int]()
    for found in _BRACE.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.end()
    return ends


def _lettered(text: str) -> str:
    return _NUMBER.sub(rf"\1{_LETTER}", text)


def _is_html(text: str) -> bool:
    """Return whether a text's tags and entities are read as such; no tag goes on in the next text."""
    if not ("<" in text or _has_entity(text)) or _LETTERED.search(text) or _OF_ICU.search(text):
        return False
    tokens = list(html_tags(_lettered(text) + _NEXT))
    return _is_label(tokens) or _is_closed(tokens)


def _has_entity(text: str) -> bool:
    return any(html.unescape(found[0]) != found[0] for found in _ENTITY.finditer(text))


def _is_label(tokens: Sequence[Token]) -> bool:
    """Return whether a text is HTML to Swing."""
    still_open = Counter[str]()
    for token in tokens:
        still_open[token.name] = max(0, still_open[token.name] + _DEEPER.get(token.kind, 0))
    is_whole = tokens[-1].raw == _NEXT and not any(still_open[name] for name in _READ_AS_A_WHOLE)
    return is_whole and tokens[0].raw.lower() == "<html>"


def _is_closed(tokens: Iterable[Token]) -> bool:
    """Return whether all tags are closed."""
    opened = list[str]()
    for token in tokens:
        is_tag = token.kind is not Kind.TEXT
        is_comment = _COMMENT.fullmatch(token.raw) is not None
        if "<" in token.raw[is_tag:] or token.name in _WITHOUT_TAGS or (token.kind is Kind.APART and not is_comment):
            return False
        if token.kind is Kind.OPENS:
            opened.append(token.name)
        elif token.kind is Kind.CLOSES and (not opened or opened.pop() != token.name):
            return False
    return not opened
