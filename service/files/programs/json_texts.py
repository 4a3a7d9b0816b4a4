"""Read the texts of programs and pages in JSON (i18next, Flutter's .arb) as HTML, and write translations in place.

Only strings that are values are translated; everything else stays the same, byte for byte.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from service.errors import InvalidInputError
from service.files.messages import edges_of, page_of, texts_of
from service.files.plain import text_like, text_of
from service.files.programs.values import check_number, is_text
from service.strict_json import depth, outside_strings

_DEEPEST: Final = 64
_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"(?P<is_name>\s*+:)?+')
_ABOUT_OTHERS: Final = "@"
"""Names that begin so in .arb have values that describe other texts, for translators and programs."""
_NOTES: Final = (
    (frozenset(("defaultMessage",)), frozenset(("description", "id"))),
    (frozenset(("message", "placeholders")), frozenset(("description", "placeholders"))),
    (frozenset(("locale", "translations")), frozenset(("locale",))),
)
"""Further values that describe texts, by names that their object has: FormatJS, browser extensions, Angular."""


def html_of(content: bytes) -> str:
    """Return the texts of a file, one after the other.

    Raises:
        InvalidInputError: it is not JSON, not in UTF-8, or nested too deeply; or a text has half a surrogate pair.
    """
    return page_of([each.words for each in _texts(*_checked(content))], content)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its texts replaced by `translation`: the translated result of `html_of`."""
    text, value = _checked(content)
    texts = list(_texts(text, value))
    translated = texts_of(translation, [each.words for each in texts], content)
    as_numbers = text.isascii() and r"\u" in text  # the program that wrote the file escapes all other letters
    written, done = list[str](), 0
    for each, words in zip(texts, translated, strict=True):
        if words and words != each.words:
            said = json.dumps(f"{each.before}{words}{each.after}", ensure_ascii=as_numbers)
            written += [text[done : each.begin], said]
            done = each.end
    return text_like(content, "".join((*written, text[done:])))


class _Text(NamedTuple):
    """A text: the position of its string in the file, its words, and the white space around them."""

    begin: int
    end: int
    before: str
    words: str
    after: str


def _checked(content: bytes) -> tuple[str, object]:
    """Decode and parse a file: objects become tuples of name and value, and numbers None."""
    text = text_of(content)
    raw = text.encode()
    if depth(outside_strings(raw), _DEEPEST) > _DEEPEST:
        raise InvalidInputError(f"file: is nested more than {_DEEPEST} levels deep")
    try:
        return text, json.loads(text, object_pairs_hook=tuple, parse_int=_nothing, parse_float=_nothing)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"file: is not valid JSON from line {error.lineno}, column {error.colno} on") from None


def _nothing(_digits: str) -> None:
    """Skip a number: it is never translated, and may be of any length."""


def _texts(text: str, value: object) -> Iterator[_Text]:
    count = 0
    values = (string for string in _STRING.finditer(text) if string["is_name"] is None)
    for string, (said, is_about) in zip(values, _strings(value), strict=True):
        if is_about or not said:
            continue
        check_number(count := count + 1)
        if not is_text(said):
            continue
        _check_characters(said, text, string.start())
        yield _Text(string.start(), string.end(), *edges_of(said))


def _check_characters(said: str, text: str, begin: int) -> None:
    try:
        said.encode()
    except UnicodeEncodeError:
        line = text.count("\n", 0, begin) + 1
        raise InvalidInputError(f"file: line {line} has half of a surrogate pair (\\ud800 to \\udfff)") from None


def _strings(value: object, *, is_about: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the strings that are values, and whether each describes other texts."""
    if isinstance(value, str):
        yield value, is_about
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each, is_about=is_about)
    elif isinstance(value, tuple):
        names = {name for name, _ in value}
        notes = {note for these, about in _NOTES if these <= names for note in about}
        for name, each in value:
            yield from _strings(each, is_about=is_about or name in notes or name.startswith(_ABOUT_OTHERS))
