"""How texts are written in Android's resources: escapes, quotation marks around them, white space between words."""

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r'\\(?:u(?P<number>[0-9A-Fa-f]{4})|(?P<sign>.))|(?P<quote>")|(?P<gap>[ \t\r\n]++)|[^\\" \t\r\n]++', re.DOTALL
)
_ESCAPES: Final = {"n": "\n", "t": "\t"}
_ESCAPED: Final = {ord(said): f"\\{escape}" for escape, said in (("n", "\n"), ("t", "\t"), ("\\", "\\"), ('"', '"'))}
_IN_QUOTES: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_LINE_FOR_LINE: Final = re.compile(r"\\n(?P<between>[ \t]*+\r?\n[ \t]*+)")
"""A line break of a text where its line in the file ends as well."""
_BREAK: Final = "\n "
"""What such a line break is: the white space after it counts as a space."""
_SPACE: Final = re.compile("(?<= ) ")
_EDGE: Final = re.compile(r"\A | \Z")
"""Spaces that would not count."""
_REFERS: Final = re.compile(r"\A((?:<!--.*?-->|<\?.*?\?>)*+)(?=[@?])", re.DOTALL)
"""Before a text that would be the name of another resource."""


class Escapes:
    """The way in which one text is written."""

    def __init__(self, content: str, *, is_styled: bool) -> None:
        self._are_quoted = not is_styled and _IN_QUOTES.fullmatch(content) is not None
        """Whether quotation marks are around the text, in which white space and apostrophes need no escape."""
        layout = None if self._are_quoted else _LINE_FOR_LINE.search(content)
        self._between = layout["between"] if layout else ""
        self._is_in_quotes = False

    def read(self, written: str) -> str:
        """Return what the next piece of the text says.

        Raises:
            ValueError: it has an escape that is none, or only half of a character.
        """
        said = "".join(map(self._said, _ESCAPE.finditer(written)))
        return said.encode("utf-16", "surrogatepass").decode("utf-16")

    def end_quotes(self) -> None:
        """Begin without quotation marks, as after a tag that says how words look."""
        self._is_in_quotes = False

    def written(self, said: str) -> str:
        """Write a piece of a text, without the quotation marks around all of it."""
        if self._are_quoted:
            return said.translate(_ESCAPED)
        lines = said.split(_BREAK) if self._between else [said]
        escaped = (_SPACE.sub(r"\\u0020", line.translate(_ESCAPED)).replace("'", r"\'") for line in lines)
        return f"\\n{self._between}".join(escaped)

    def whole(self, pieces: str) -> str:
        """Return all of a text, of whose pieces each is written."""
        if self._are_quoted:
            return f'"{pieces}"'
        return _REFERS.sub(r"\1\\", _EDGE.sub(r"\\u0020", pieces))

    def _said(self, found: re.Match[str]) -> str:
        if found["number"]:
            return chr(int(found["number"], 16))
        if sign := found["sign"]:
            if sign == "u":
                raise ValueError
            return _ESCAPES.get(sign, sign)
        if found["quote"]:
            self._is_in_quotes = not self._is_in_quotes
            return ""
        return " " if found["gap"] and not self._is_in_quotes else found[0]
