"""Parse the lines of gettext's files (.po) into messages, and change the lines of a message in place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

from service.errors import InvalidInputError

_LINES: Final = re.compile(r"[^\n]*+\n|[^\n]+")
_LINE: Final = re.compile(
    r"""\s*+ (?: (?P<unused>\#~.*) | (?P<flags>\#,.*) | (?P<previous>\#\|.*) | (?P<comment>\#.*)
    | (?P<name>msg(?:ctxt|id_plural|id|str(?:\[\d\])?))? \s*+ "(?P<said>(?:[^"\\]++|\\.)*+)" ) \s*+""",
    re.VERBOSE,
)
_ABOUT: Final = frozenset(("flags", "previous"))
"""Comments about a message that are meant for programs."""
_BEGIN: Final = frozenset(("msgctxt", "msgid"))
_FUZZY: Final = re.compile(r"[,\s]fuzzy\b")
_ESCAPES: Final = dict(zip('abfnrtv"\\', '\a\b\f\n\r\t\v"\\', strict=True))
_ESCAPE: Final = re.compile(rf"\\([{re.escape(''.join(_ESCAPES))}])|(?:\\(?:[0-7]{{1,3}}|x[0-9A-Fa-f]++))++")
"""An escaped character, or several as numbers of their bytes: `msgcat --escape` so writes all that is not ASCII."""
_BYTE: Final = re.compile(r"\\(?:([0-7]+)|x([0-9A-Fa-f]+))")
_ESCAPED: Final = {number: f"\\{number:03o}" for number in range(32)} | {
    ord(said): f"\\{escape}" for escape, said in _ESCAPES.items()
}


@dataclass(slots=True)
class Entry:
    """A message: the numbers of its lines, and the contents of its strings."""

    lines: dict[str, list[int]] = field(default_factory=dict)
    """Line numbers of its `flags`, of the `previous` message (the one that was translated), and of each string."""
    said: dict[str, list[str]] = field(default_factory=dict)
    """Contents of `msgctxt`, `msgid`, `msgid_plural`, `msgstr`, or `msgstr[0]` and so on, line by line."""

    @property
    def message(self) -> str:
        """The text to translate."""
        return self.text("msgid")

    def text(self, name: str) -> str:
        """Return the content of a string; empty if it is not there."""
        return "".join(self.said.get(name, ()))

    @property
    def forms(self) -> list[str]:
        """The names of its translations: several if the text depends on a number."""
        return [name for name in self.said if name.startswith("msgstr")]

    def comment(self, kind: str, number: int) -> None:
        """Note a comment and the number of its line."""
        if kind in _ABOUT:
            self.lines.setdefault(kind, []).append(number)
        elif kind == "unused" and not self.said:
            self.lines.clear()  # the comments before this line were about a message that is not in use


class CatalogLines:
    """The lines of a file, and its messages."""

    def __init__(self, text: str) -> None:
        """Read a file.

        Raises:
            InvalidInputError: it is no .po file; the message names the first line that cannot be read.
        """
        self._lines = _LINES.findall(text)
        self._end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
        self.entries = list(self._read())
        """The messages in use, in order; the one with an empty `msgid` is the file's header."""

    def text(self) -> str:
        """Return the file as it is now."""
        return "".join(self._lines)

    def is_guess(self, entry: Entry) -> bool:
        """Return whether the translation was made for another, similar message (`msgmerge --previous`)."""
        return "previous" in entry.lines and self._is_fuzzy(entry)

    def mark_fuzzy(self, entry: Entry) -> None:
        """Mark a translation as one to be reviewed, and no longer as another message's."""
        for number in entry.lines.get("previous", ()):
            self._lines[number] = ""
        if self._is_fuzzy(entry):
            return
        if flags := entry.lines.get("flags"):
            self._lines[flags[0]] = self._lines[flags[0]].replace("#,", "#, fuzzy,", 1)
        else:
            first = entry.lines.get("msgctxt", entry.lines["msgid"])[0]
            self._lines[first] = f"#, fuzzy{self._end}{self._lines[first]}"

    def say(self, entry: Entry, name: str, text: str) -> None:
        """Set the content of a string; a form that is not there yet is added after the last one."""
        parts = _LINES.findall(text) or [""]
        strings = parts if len(parts) == 1 else ["", *parts]  # gettext's form of several lines
        written = "".join(f'"{string.translate(_ESCAPED)}"{self._end}' for string in strings)
        if there := entry.lines.get(name):
            for number in there:
                self._lines[number] = ""
        else:
            there = entry.lines[name] = entry.lines[entry.forms[-1]][-1:]
            if (last := self._lines[there[0]]) and not last.endswith("\n"):
                self._lines[there[0]] += self._end
        entry.said[name] = [text]
        self._lines[there[0]] += f"{name} {written}"

    def replace(self, entry: Entry, name: str, what: re.Pattern[str], by: str) -> None:
        """Replace a pattern in the lines of a string."""
        for number in entry.lines.get(name, ()):
            self._lines[number] = what.sub(by, self._lines[number])

    def _is_fuzzy(self, entry: Entry) -> bool:
        return any(_FUZZY.search(self._lines[number]) for number in entry.lines.get("flags", ()))

    def _read(self) -> Iterator[Entry]:
        entry, name = Entry(), ""
        for number, line in enumerate(self._lines):
            if line.isspace():
                continue
            found = _LINE.fullmatch(line)
            if found is None:
                _refuse(number)
            is_comment = found["said"] is None
            if (is_comment or found["name"] in _BEGIN) and entry.forms:
                yield entry
                entry = Entry()
            if is_comment:
                name = ""
                entry.comment(found.lastgroup or "", number)
            else:
                goes_on, name = found["name"] is None, found["name"] or name
                if not (name if goes_on else _may_follow(entry, name)):
                    _refuse(number)
                entry.lines.setdefault(name, []).append(number)
                entry.said.setdefault(name, []).append(_unescaped(found["said"]))
        if entry.forms:
            yield entry
        elif entry.said:
            _refuse(len(self._lines) - 1)


def _may_follow(entry: Entry, name: str) -> bool:
    """Return whether a string of this name may come next in a message."""
    said = entry.said
    match name:
        case "msgctxt":
            return not said
        case "msgid":
            return not said.keys() - {"msgctxt"}
        case "msgid_plural":
            return "msgid" in said and name not in said and not entry.forms
        case _:
            is_form_of_several = name != "msgstr"
            return "msgid" in said and name not in said and is_form_of_several == ("msgid_plural" in said)


def _unescaped(said: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[1]] if found[1] else _of_bytes(found[0]), said)


def _of_bytes(escaped: str) -> str:
    """Decode escaped bytes as UTF-8; return them as they are if they are in another encoding."""
    values = (int(octal, 8) if octal else int(other[-2:], 16) for octal, other in _BYTE.findall(escaped))
    try:
        return bytes(value & 255 for value in values).decode()
    except UnicodeDecodeError:
        return escaped


def _refuse(number: int) -> NoReturn:
    raise InvalidInputError(f"file: is not a valid .po from line {number + 1} on")
