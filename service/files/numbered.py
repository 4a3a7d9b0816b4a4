"""HTML that represents a text of a file: each tag has the number of the part of the file that it stands for."""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TAG: Final = re.compile(r'<(?P<closes>/?)(?P<name>span|a|code|img|hr|br)(?: id="(?P<number>\d+)")?/?>')

_NO_CHARACTER: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow (XML 1.0, section 2.2)."""


class Tag(NamedTuple):
    """A numbered tag; a closing one has no number."""

    name: str
    number: int | None
    closes: bool


def pieces_of(text: str) -> Iterator[str | Tag]:
    """Yield the words, without entities or characters that XML does not allow, and the tags between them."""
    end = 0
    for tag in _TAG.finditer(text):
        if end < tag.start():
            yield _read(text[end : tag.start()])
        yield Tag(tag["name"], None if tag["number"] is None else int(tag["number"]), bool(tag["closes"]))
        end = tag.end()
    if end < len(text):
        yield _read(text[end:])


def paragraphs_of(translation: str) -> list[str]:
    """Return the content of each paragraph."""
    return re.findall(r"<p>(.*?)</p>", translation, re.DOTALL)


def html_of_words(words: str) -> str:
    """Escape words without tags, in which line breaks are significant."""
    return re.sub(r"\r\n?|\n", "<br>", html.escape(words, quote=False))


def characters_of(text: str) -> str:
    """Remove the characters that XML does not allow."""
    return _NO_CHARACTER.sub("", text)


def _read(text: str) -> str:
    return characters_of(html.unescape(text))
