"""Texts of programs, each of which stands for itself in a file, as one page of HTML, and the translation of that.

A text that has tags is a part of a page, as far as they are in order; in any other one they are no more than signs.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from service.files.numbered import html_of_words, pieces_of

_TAG: Final = re.compile(r"<(?P<closes>/?)(?P<name>[A-Za-z0-9][A-Za-z0-9-]*+)(?P<rest>(?:\s[^<>]*+)?)>")
_ALONE: Final = frozenset(("br", "hr", "img", "input", "wbr"))
_WITHOUT_TAGS: Final = frozenset(
    ("iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp")
)
"""Elements of HTML in which a tag is none."""
_NUMBER: Final = re.compile(r"(</?)(?=\d)")
"""Where tags begin that are numbers, as programs have them, and no page (`<0>…</0>`, of React)."""
_LETTER: Final = "t-"
_LETTERED: Final = re.compile(rf"(</?){_LETTER}(?=\d)")


def page_of(texts: Sequence[str], content: bytes) -> str:
    """The texts of a file, one behind the other."""
    return divider(content).join(map(html_of_text, texts))


def texts_of(page: str, texts: Sequence[str], content: bytes) -> list[str]:
    """What `page_of` gives of these texts, translated: as many."""
    parts = page.split(divider(content)) if texts else []
    return [text_of_html(part, text) for part, text in zip(parts, texts, strict=True)]


def divider(content: bytes) -> str:
    """What stands between texts of a file, and in none of them: it ends a sentence, and is not translated."""
    return f'<hr id="{hashlib.sha256(content).hexdigest()[:16]}"/>'


def html_of_text(text: str) -> str:
    """A text as a part of a page."""
    return _lettered(text) if _is_html(text) else html_of_words(text)


def text_of_html(part: str, text: str) -> str:
    """What `html_of_text` gives of a text, translated, as such a text."""
    return _LETTERED.sub(r"\1", part) if _is_html(text) else _words_of(part)


def _lettered(text: str) -> str:
    return _NUMBER.sub(rf"\1{_LETTER}", text)


def _is_html(text: str) -> bool:
    """Whether a text has tags, and each one that is opened is closed, so that none goes on in the next text."""
    opened, found = list[str](), False
    for tag in _TAG.finditer(text):
        found, name = True, tag["name"].lower()
        if name in _WITHOUT_TAGS or name.startswith(_LETTER):
            return False
        if tag["closes"]:
            if not opened or opened.pop() != name:
                return False
        elif name not in _ALONE and not tag["rest"].endswith("/"):
            opened.append(name)
    return found and not opened and "<" not in _TAG.sub("", text)


def _words_of(part: str) -> str:
    return "".join(piece if isinstance(piece, str) else "\n" for piece in pieces_of(part))
