"""Read the texts of Java programs (.properties) as HTML, and write translations in place.

Only values are translated; everything else stays the same, byte for byte.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from service.errors import InvalidInputError
from service.files.messages import edges_of, page_of, texts_of
from service.files.plain import text_like, text_of
from service.files.programs.access_keys import keyed
from service.files.programs.values import check_number, is_text

_OLD: Final = "iso-8859-1"
"""The encoding up to Java 8, in which all other characters are escaped."""
_NOT_OLD: Final = re.compile(rb"[\x00-\x08\x0e-\x1f\x80-\x9f]|[\xa1-\xff]{6}")
"""What no text in this encoding has, but those in Shift_JIS and EUC-JP do."""
_END: Final = r"(?:\r\n?|\n)"
_GAP: Final = rf"(?:[ \t\f]|\\{_END})*+"
_ENTRY: Final = re.compile(
    rf"""[ \t\f]*+ (?: [#!][^\r\n]*+
    | (?P<name>(?:[^\\ \t\f\r\n=:]++|\\{_END}[ \t\f]*+|\\[^\r\n])*+) {_GAP} (?:[=:]{_GAP})?+
      (?P<value>(?:[^\\\r\n]++|\\{_END}|\\[^\r\n])*+) \\?+ ) (?:{_END}|\Z)""",
    re.VERBOSE,
)
"""A comment or an entry, with all lines on which it goes on."""
_FOR_PROGRAMS: Final = re.compile(r"(?:accelerator|key_?stroke|mnemonic)\Z", re.IGNORECASE)
"""The end of a name whose value is a key of Swing's."""
_ESCAPES: Final = dict(zip("tnrf", "\t\n\r\f", strict=True))
_ESCAPE: Final = re.compile(rf"\\(?:u(?P<number>[0-9A-Fa-f]{{4}})|(?P<end>{_END}[ \t\f]*+)|(?P<sign>[^\r\n]))")
_ESCAPED: Final = {number: f"\\u{number:04x}" for number in range(32)} | {
    ord(said): f"\\{escape}" for escape, said in (*_ESCAPES.items(), ("\\", "\\"))
}
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]++")
_FIRST: Final = frozenset(" =:")
"""Characters that would belong to what is before a value, if it began with them."""
_LINE_FOR_LINE: Final = re.compile(rf"\\n(?P<between>\\{_END}[ \t\f]*+)")
"""A line break of a text where its line in the file ends as well."""
_ARGUMENT: Final = re.compile(r"(\{[0-9]{1,3}(?:,(?:[^{}]++|\{[^{}]*+\})*+)?\})")
"""A placeholder of MessageFormat: in a text with one, '' stands for an apostrophe, and '{' for a brace."""
_QUOTED: Final = re.compile(r"'(?:'|([{}]|\{[^'{}]*+\})')")
_SYNTAX: Final = frozenset("'{}")
_IN_WORD: Final = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")
_IN_WORD_TWICE: Final = re.compile(r"(?<=[^\W\d_])''(?=[^\W\d_])")


def html_of(content: bytes) -> str:
    """Return the texts of a file, one after the other.

    Raises:
        InvalidInputError: it is neither in UTF-8 nor in ISO-8859-1, or has an escape of half a character.
    """
    return page_of([each.words for each in _texts(_decoded(content)[0])], content)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its texts replaced by `translation`: the translated result of `html_of`."""
    text, is_old = _decoded(content)
    texts = list(_texts(text))
    translated = texts_of(translation, [each.words for each in texts], content)
    # Escapes are read everywhere; a file that has the letters themselves is one that people read.
    as_numbers = is_old or all(found["value"] is None or found["value"].isascii() for found in _ENTRY.finditer(text))
    written, done = list[str](), 0
    for each, words in zip(texts, translated, strict=True):
        if words and words != each.words:
            said = each.written(words)
            written += [text[done : each.begin], _as_numbers(said) if as_numbers else said]
            done = each.end
    changed = "".join((*written, text[done:]))
    return changed.encode(_OLD) if is_old else text_like(content, changed)


def _decoded(content: bytes) -> tuple[str, bool]:
    """Return the text of a file, and whether it is in the encoding of old."""
    try:
        return text_of(content), False
    except InvalidInputError as error:
        if _NOT_OLD.search(content):
            raise InvalidInputError(f"{error}; nor is it in {_OLD.upper()}") from None
        return content.decode(_OLD), True


def _texts(text: str) -> Iterator["_Text"]:
    values = [found for found in _ENTRY.finditer(text) if found["value"]]
    check_number(len(values))
    said = [_unescaped(found) for found in values]
    is_quoted = not any(_ARGUMENT.search(each) and _IN_WORD.search(_ARGUMENT.sub(" ", each)) for each in said)
    for found, value in zip(values, said, strict=True):
        if is_text(value.strip()) and not _FOR_PROGRAMS.search(found["name"]):
            yield _Text(found, value, is_quoted=is_quoted)


class _Text:
    """A text, and the place of its value in the file."""

    def __init__(self, found: re.Match[str], said: str, *, is_quoted: bool) -> None:
        self.begin, self.end = found.span("value")
        layout = _LINE_FOR_LINE.search(found["value"])
        self._between = layout["between"] if layout else ""
        self._before, words, self._after = edges_of(said)
        self._is_quoted = (is_quoted and bool(_ARGUMENT.search(said))) or bool(_IN_WORD_TWICE.search(said))
        read = _without_quotes(words) if self._is_quoted else words
        self._has_quotes = read is None
        self._keyed = keyed(words if read is None else read)
        self.words = self._keyed.words
        """The words to translate."""

    def written(self, words: str) -> str:
        """Return the value with other words."""
        said = self._keyed.marked(words)
        if self._has_quotes:  # which of a translation's are such quotes, only their places say
            said = _outside_arguments(said, lambda part: _IN_WORD.sub("''", part))
        elif self._is_quoted:
            said = _outside_arguments(said, _with_quotes)
        first, *others = (line.translate(_ESCAPED) for line in f"{self._before}{said}{self._after}".split("\n"))
        lines = [f"\\{first}" if first[:1] in _FIRST else first]
        for line in others:
            lines += [r"\n", *([self._between, "\\" * line.startswith(" ")] if line and self._between else []), line]
        return "".join(lines)


def _without_quotes(said: str) -> str | None:
    """Return what a text says to MessageFormat; None if it has quotes around more than braces and what is in them."""
    others = [_QUOTED.sub("", part) for part in _ARGUMENT.split(said)[::2]]
    read = _outside_arguments(said, lambda part: _QUOTED.sub(lambda quoted: quoted[1] or "'", part))
    is_clear = all(map(_SYNTAX.isdisjoint, others)) and _ARGUMENT.findall(read) == _ARGUMENT.findall(said)
    return read if is_clear else None


def _with_quotes(said: str) -> str:
    return re.sub(r"[{}]++", r"'\g<0>'", said.replace("'", "''"))


def _outside_arguments(said: str, change: Callable[[str], str]) -> str:
    parts = _ARGUMENT.split(said)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def _unescaped(found: re.Match[str]) -> str:
    """Return what a value says.

    Raises:
        InvalidInputError: it has an escape that is none, or only half of a character.
    """
    try:
        said = _ESCAPE.sub(_said, found["value"])
        return said.encode("utf-16", "surrogatepass").decode("utf-16")
    except ValueError:
        line = len(re.findall(_END, found.string[: found.start("name")])) + 1
        raise InvalidInputError(
            rf"file: the entry in line {line} has \u without the number of a character after it"
        ) from None


def _said(escape: re.Match[str]) -> str:
    if escape["number"]:
        return chr(int(escape["number"], 16))
    if escape["end"]:
        return ""
    if escape["sign"] == "u":
        raise ValueError
    return _ESCAPES.get(escape["sign"], escape["sign"])


def _as_numbers(said: str) -> str:
    def numbers(found: re.Match[str]) -> str:
        return "".join(f"\\u{unit.hex()}" for unit in _units(found[0].encode("utf-16-be")))

    return _NOT_ASCII.sub(numbers, said)


def _units(encoded: bytes) -> Iterator[bytes]:
    return (encoded[start : start + 2] for start in range(0, len(encoded), 2))
