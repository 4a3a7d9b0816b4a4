"""Texts of programs and pages in JSON (of i18next, or Flutter's .arb) as HTML, and their translation in their places.

Only strings that are values are translated; all else stays the same, byte for byte.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from models.data.words import has_words
from service.errors import InvalidInputError
from service.files.messages import page_of, texts_of
from service.files.plain import text_like, text_of
from service.strict_json import depth, outside_strings

_DEEPEST: Final = 64
_MOST_TEXTS: Final = 100_000
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]')
_EDGES: Final = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_ABOUT_OTHERS: Final = "@"
"""What names begin with whose values say something of other texts, in .arb: for translators, and for programs."""


def html_of(content: bytes) -> str:
    """The texts of a file as paragraphs.

    Raises:
        InvalidInputError: it is no JSON, not in UTF-8, or nested too deep; or a text has a character that is none.
    """
    return page_of([each.words for each in _texts(_checked(content))], content)


def with_translation(content: bytes, translation: str) -> bytes:
    """A file with other texts: what `html_of` gives of it, translated."""
    text = _checked(content)
    texts = list(_texts(text))
    translated = texts_of(translation, [each.words for each in texts], content)
    as_numbers = text.isascii() and r"\u" in text  # as what wrote it writes all letters
    written, done = list[str](), 0
    for each, words in zip(texts, translated, strict=True):
        if words and words != each.words:
            said = json.dumps(f"{each.before}{words}{each.after}", ensure_ascii=as_numbers)
            written += [text[done : each.begin], said]
            done = each.end
    return text_like(content, "".join((*written, text[done:])))


class _Text(NamedTuple):
    """A text: where its string is in the file, its words, and the white space around them."""

    begin: int
    end: int
    before: str
    words: str
    after: str


def _checked(content: bytes) -> str:
    text = text_of(content)
    raw = text.encode()
    if depth(outside_strings(raw), _DEEPEST) > _DEEPEST:
        raise InvalidInputError(f"file: is nested more than {_DEEPEST} deep")
    try:
        json.loads(text, parse_int=str, parse_float=str)  # numbers stay as they are, however long
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"file: is no JSON from line {error.lineno}, column {error.colno} on") from None
    return text


def _texts(text: str) -> Iterator[_Text]:
    count = 0
    for string in _values(text):
        said = json.loads(string[0])
        edges = _EDGES.fullmatch(said)
        if edges is None or not has_words(said):
            continue
        if (count := count + 1) > _MOST_TEXTS:
            raise InvalidInputError(f"file: has more than {_MOST_TEXTS} texts")
        _check_characters(said, text, string.start())
        yield _Text(string.start(), string.end(), *edges.groups())


def _check_characters(said: str, text: str, begin: int) -> None:
    try:
        said.encode()
    except UnicodeEncodeError:
        line = text.count("\n", 0, begin) + 1
        raise InvalidInputError(f"file: line {line} has half a character (\\ud800 to \\udfff)") from None


def _values(text: str) -> Iterator[re.Match[str]]:
    """The strings of a JSON text that are values, without those of names that say something of other texts."""
    name, string = "", None
    about = list[bool]()
    """Whether such a name has each of the arrays and objects that are open; of each the name is lost when it opens."""
    for token in _TOKEN.finditer(text):
        kind = token[0][0]
        if kind == '"':
            string = token
            continue
        if kind == ":" and string is not None:
            name, string = json.loads(string[0]), None
            continue
        is_about = name.startswith(_ABOUT_OTHERS) or any(about[-1:])
        if string is not None and not is_about:
            yield string
        string = None
        if kind in "{[":
            about.append(is_about)
            name = ""
        else:
            if kind != ",":
                about.pop()
            name = ""
    if string is not None:
        yield string
