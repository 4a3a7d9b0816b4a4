"""Texts of programs, each of which stands for itself in a file, as one page of HTML, and the translation of that.

A text that has tags is a part of a page, as far as they are in order; in any other one they are no more than signs.
"""

import hashlib
import html
import re
from collections.abc import Sequence
from typing import Final

from service.texts.tagged import is_block
from service.texts.tags import Kind, html_tags

_WITHOUT_TAGS: Final = frozenset(
    ("iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp")
)
"""Elements of HTML in which a tag is none."""
_NUMBER: Final = re.compile(r"(</?)(?=\d)")
"""Where tags begin that are numbers, as programs have them, and no page (`<0>…</0>`, of React)."""
_LETTER: Final = "t-"
_LETTERED: Final = re.compile(rf"(</?){_LETTER}(?=\d)")
_PART: Final = r"(?<=[^|'])(?=\|[^|'])(?![^{}]{0,120}+\})"
"""Before a part of a text, as Vue and Laravel have one for each number, and titles of pages for each page; in braces it
is a placeholder's."""
_LINE: Final = re.compile(rf"(?<![\r\n])(?=[\r\n])|{_PART}")
_LINE_BESIDE_TAGS: Final = re.compile(rf"(?<![\r\n])(?=[\r\n]++(?![ \t]))|{_PART}")
"""Where a line ends, unless what follows is set back: so pages are written, whose lines say nothing."""
_OF_ICU: Final = re.compile(r"\{\s*+\w++\s*+,\s*+(?:plural|select|selectordinal)\s*+,")
_AND: Final = "&amp;"
_COMMENT: Final = re.compile(r"<!--[^<]*-->")
_NEXT: Final = "<hr>"
"""What follows a text: a tag that is not ended goes on into it."""


class Page:
    """How the texts of a file stand on one page: what is between them, and before their line breaks, is in no text."""

    def __init__(self, content: bytes) -> None:
        number = hashlib.sha256(content).hexdigest()[:16]
        self.between: Final = f'<hr id="{number}"/>'
        """Ends a sentence, and is not translated."""
        self._line: Final = f'<br id="{number}">'

    def html_of(self, text: str) -> str:
        """A text as a part of the page."""
        if not _is_html(text):
            return _LINE.sub(self._line, html.escape(text, quote=False))
        tokens = list(html_tags(_lettered(text)))
        if any(is_block(token.name) for token in tokens):
            return _lettered(text)
        return "".join(
            _LINE_BESIDE_TAGS.sub(self._line, token.raw) if token.kind is Kind.TEXT else token.raw for token in tokens
        )

    def text_of(self, part: str, text: str) -> str:
        """What `html_of` gives of a text, translated, as such a text."""
        part = part.replace(self._line, "")
        if not _is_html(text):
            return html.unescape(part)
        # What has tags need not have entities: React shows &amp; as it is.
        part = part.replace(_AND, "&") if "&" in text and _AND not in text else part
        return _LETTERED.sub(r"\1", part)


def page_of(texts: Sequence[str], content: bytes) -> str:
    """The texts of a file, one behind the other."""
    page = Page(content)
    return page.between.join(map(page.html_of, texts))


def texts_of(translation: str, texts: Sequence[str], content: bytes) -> list[str]:
    """What `page_of` gives of these texts, translated: as many."""
    page = Page(content)
    parts = translation.split(page.between) if texts else []
    return [page.text_of(part, text) for part, text in zip(parts, texts, strict=True)]


def edges_of(text: str) -> tuple[str, str, str]:
    """A text without the white space around it, and that before and after it."""
    words = text.strip()
    start = text.index(words)
    return text[:start], words, text[start + len(words) :]


def _lettered(text: str) -> str:
    return _NUMBER.sub(rf"\1{_LETTER}", text)


def _is_html(text: str) -> bool:
    """Whether a text has tags, and each one that is opened is closed, so that none goes on in the next text."""
    if "<" not in text or _LETTERED.search(text) or _OF_ICU.search(text):
        return False
    opened = list[str]()
    for token in html_tags(_lettered(text) + _NEXT):
        is_tag = token.kind is not Kind.TEXT
        is_comment = _COMMENT.fullmatch(token.raw) is not None
        if "<" in token.raw[is_tag:] or token.name in _WITHOUT_TAGS or (token.kind is Kind.APART and not is_comment):
            return False
        if token.kind is Kind.OPENS:
            opened.append(token.name)
        elif token.kind is Kind.CLOSES and (not opened or opened.pop() != token.name):
            return False
    return not opened
