r"""Texts of SubStation Alpha's events: blocks like `{\i1}` that say how what follows looks, line breaks, and drawings.

Each line of such a text becomes HTML, in which words that look different from most of the line are in a `span` with a
number. Blocks around all of a line are not read, and stay around it. If a translation changes from one look to another
as its source does, it has the source's blocks; elsewhere the change is made of the tags in which the looks differ.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from service.files.numbered import pieces_of

_TOKEN: Final = re.compile(r"(?P<mark>\{[^}]*+(?:\}|\Z))|(?P<end>\\[Nn])|(?:[^{\\]++|\\\{|\\(?![Nn]))++")
r"""A block or comment, the end of a line, or text; a block that is not closed goes on to the end.

After a backslash a brace is text, as FFmpeg writes it and libass reads it.
"""
_TAG: Final = re.compile(
    r"\\[ ]*+(?:(?P<look>alpha|be|blur|[xy]?bord|b|fa[xy]|fe|fn|fr[xyz]?|fsc[xy]|fsp|fs|pbo|[xy]?shad|s|u"
    r"|[1-4][ac]|c(?!lip)|r(?!nd)|i(?!clip))|(?P<place>an?|pos|move|org|i?clip)|[A-Za-z0-9]*+)"
    r"(?P<said>[ ]*+\([^)]*+\)?+|[^\\]*+)"
)
"""A tag in a block; all but those of looks count for a whole event."""
_TIMED: Final = re.compile(r"\\[ ]*+(?:[Kk]|t[ ]*+\()")
"""A tag with which a look depends on the time: syllables of karaoke, and changes."""
_DRAWS: Final = re.compile(r"\\[ ]*+p[ ]*+([0-9]*+)(?![a-z])")
"""A tag that begins a drawing, or with 0 ends it: what follows are commands for the drawing, not words."""
_LONGEST_TAG: Final = 200
"""Longer tags are not repeated."""
_MOST_PARTS: Final = 1000
"""A line of more parts is read as if it looked the same all over: each look takes half a kilobyte of memory."""
_SAME: Final = {"1c": "c", "fr": "frz"}
_SWITCHES: Final = frozenset("bisu")
_SPACE: Final = re.compile(r"(?:\s|\\h)*+")
_SPACE_BACKWARDS: Final = re.compile(r"(?:\s|h\\)*+")
_HARD_SPACE: Final = r"\h"
_NO_BREAK_SPACE: Final = "\u00a0"
_BRACE: Final = r"\{"
_NO_BLOCK: Final = str.maketrans("{}", "()")
_NO_BLOCK_BUT_BRACES: Final = str.maketrans({"{": _BRACE, "}": r"\}"})

_Look = Mapping[str, str]
"""The tags that are in force, by their names."""


class _Token(NamedTuple):
    """A part of a text: words, or a block, a comment or a drawing."""

    raw: str
    is_text: bool

    @property
    def has_words(self) -> bool:
        return self.is_text and not _SPACE.fullmatch(self.raw)


class _Looks:
    """How an event looks, up to where it has been read."""

    def __init__(self) -> None:
        self.now: dict[str, str] = {}
        self.place = list[str]()
        """The tags that say where the event is shown."""
        self._usual: dict[str, str] = {}
        """Presumed values of switches in the style: the opposite of that to which a switch is first set."""
        self._resets: dict[str, str] = {}
        """The tags by which the event returns to them."""

    def read(self, mark: str) -> str:
        """Read a block, a comment or a drawing; return what of it concerns no look."""
        if not mark.startswith("{") or "\\" not in mark:
            return mark
        note = mark.partition("\\")[0].removeprefix("{")
        others = [note] * bool(note.strip())
        self.now = dict(self.now)
        for tag in _TAG.finditer(mark.removeprefix("{").removesuffix("}")):
            if tag["look"] is not None and len(tag[0]) <= _LONGEST_TAG:
                self._set(_name(tag), tag["said"].strip(), tag[0])
            elif not _TIMED.match(tag[0]):
                others.append(tag[0])
            if tag["place"] is not None:
                self.place.append(tag[0])
        return f"{{{''.join(others)}}}" if others else ""

    def change(self, before: _Look, after: _Look) -> str:
        """Return a block that changes one look to another."""
        if before == after:
            return ""
        if before.get("r") != after.get("r"):
            tags = [after.get("r", r"\r"), *(tag for name, tag in after.items() if name != "r")]
        else:
            tags = [self._resets.get(name, f"\\{name}") for name in before if name not in after]
            tags += [tag for name, tag in after.items() if before.get(name) != tag]
        return f"{{{''.join(tags)}}}"

    def opening(self, blocks: Sequence[str], first: _Look, look: _Look) -> str:
        """Return what is left of blocks that lead to a first look, if a change to another one follows them at once."""
        changed = {name for name in {**first, **look} if first.get(name) != look.get(name)}
        if "r" in changed:
            return ""
        left = (_TAG.sub(lambda tag: "" if _name(tag) in changed else tag[0], block[1:-1]) for block in blocks)
        return "".join(f"{{{tags}}}" for tags in left if tags)

    def _set(self, name: str, said: str, tag: str) -> None:
        if name == "r":
            self.now = {name: tag} if said else {}
            return
        if name in _SWITCHES and said:
            usual = self._usual.setdefault(name, "1" if said == "0" else "0")
            if said == usual:
                self._resets[name] = tag
                said = ""
        if said:
            self.now[name] = tag
        else:
            self.now.pop(name, None)


def _name(tag: re.Match[str]) -> str:
    """Return the name of a tag that says how words look; empty for others."""
    return _SAME.get(tag["look"], tag["look"] or "")


class Row:
    """A line of an event."""

    def __init__(self, tokens: Sequence[_Token], looks: _Looks) -> None:
        """Read a line.

        Args:
            tokens: its parts.
            looks: how the event looks at its beginning; afterwards, at its end.
        """
        self.translation: str | None = None
        """The translation of `html`."""
        self.is_last = True
        """Whether no other line with words follows in the event."""
        self._raw = "".join(token.raw for token in tokens)
        self._has_hard_space = _HARD_SPACE in self._raw
        has_braces = any(_BRACE in token.raw for token in tokens if token.is_text)
        self._no_block = _NO_BLOCK_BUT_BRACES if has_braces else _NO_BLOCK
        self._looks = looks
        self._found = list[_Look]()
        """The looks of its words, in the order in which they begin."""
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}
        self._runs: list[tuple[int, list[str]]] = []
        """Its words, each with the number of their look."""
        self._last = 0
        """The number of the look at the end of the words."""
        self._changes: dict[tuple[int, int], str] = {}
        """The file's blocks that change one look to another."""
        self._moved = list[str]()
        """What stands among the words, but belongs to none."""
        self._before = self._indent = self._after = ""
        """What is around its words: blocks and comments, space, and blocks and comments."""
        self._opening = list[str]()
        """Blocks between the first two of these that are about nothing but the look of the first words."""
        self._read(tokens)
        lengths = Counter[int]()
        for number, words in self._runs:
            lengths[number] += sum(map(len, words))
        self._usual = lengths.most_common(1)[0][0] if lengths else 0
        self.words = "".join(chain.from_iterable(words for _, words in self._runs))
        """What is read of it; empty if there is nothing."""
        self.html = "".join(map(self._html_of, self._runs))
        """The same with the looks that are not those of most of it."""

    @property
    def look(self) -> _Look | None:
        """How all its words look, if they look the same."""
        return self._found[0] if len(self._found) == 1 else None

    def written(self) -> str:
        """Return the line with its translation."""
        if self.translation is None or self.translation == self.html:
            return self._raw
        said = list(self._translated(self.translation))
        first = self._runs[0][0]
        now = said[0][0] if said else first
        opening = self._looks.opening(self._opening, self._found[first], self._found[now])
        parts = [self._before, opening, self._change(first, now), self._indent]
        for number, words in said:
            parts += [self._change(now, number), self._said(words)]
            now = number
        if not self.is_last:
            parts.append(self._change(now, self._last))
        return "".join([*parts, *self._moved, self._after])

    def _read(self, tokens: Sequence[_Token]) -> None:
        """Divide the line into what is before its words, the words, and what is after them."""
        places = [place for place, token in enumerate(tokens) if token.has_words]
        if not places:
            self._pass(tokens)
            return
        before, inner, after = tokens[: places[0]], tokens[places[0] : places[-1] + 1], tokens[places[-1] + 1 :]
        first, last = inner[0].raw, inner[-1].raw
        begin, end = _length(_SPACE, first), len(last) - _length(_SPACE_BACKWARDS, last[::-1])
        self._open(before)
        self._indent = first[:begin]
        if len(inner) == 1:
            words = [_Token(first[begin:end], is_text=True)]
        else:
            words = [_Token(first[begin:], is_text=True), *inner[1:-1], _Token(last[:end], is_text=True)]
        self._read_words(words)
        self._last = self._number()
        self._after = last[end:] + self._pass(after)

    def _open(self, tokens: Sequence[_Token]) -> None:
        """Read marks before the words."""
        before = list[str]()
        for token in tokens:
            if token.is_text or self._looks.read(token.raw) or _TIMED.search(token.raw):
                before += [*self._opening, token.raw]
                self._opening = []
            else:
                self._opening.append(token.raw)
        self._before = "".join(before)

    def _pass(self, tokens: Sequence[_Token]) -> str:
        """Read marks around the words."""
        for token in tokens:
            if not token.is_text:
                self._looks.read(token.raw)
        return "".join(token.raw for token in tokens)

    def _read_words(self, tokens: Sequence[_Token]) -> None:
        is_timed = any(not token.is_text and _TIMED.search(token.raw) for token in tokens)
        is_whole = is_timed or len(tokens) > _MOST_PARTS
        marks, others, number = list[str](), list[str](), self._number()
        for token in tokens:
            if not token.is_text:
                marks.append(token.raw)
                others.append(self._looks.read(token.raw))
                continue
            before = number
            if token.has_words:
                number = number if is_whole else self._number()
                if number != before and not any(others):
                    self._changes.setdefault((before, number), "".join(marks))
                self._moved += others
                marks, others = [], []
            if not self._runs or number != before:
                self._runs.append((number, []))
            self._runs[-1][1].append(_words_of(token.raw))

    def _number(self) -> int:
        """Return the number of the current look."""
        number = self._numbers.setdefault(frozenset(self._looks.now.items()), len(self._found))
        if number == len(self._found):
            self._found.append(self._looks.now)
        return number

    def _html_of(self, run: tuple[int, Sequence[str]]) -> str:
        number, words = run
        said = html.escape("".join(words), quote=False)
        return said if number == self._usual else f'<span id="{number}">{said}</span>'

    def _translated(self, translation: str) -> Iterator[tuple[int, str]]:
        """Yield the words of a translation, each with the number of its look."""
        opened = [self._usual]
        for piece in pieces_of(translation.strip()):
            if isinstance(piece, str):
                yield opened[-1], piece
            elif piece.closes:
                del opened[max(1, len(opened) - 1) :]
            elif piece.number is not None:
                opened.append(piece.number)

    def _change(self, before: int, after: int) -> str:
        written = self._changes.get((before, after))
        return self._looks.change(self._found[before], self._found[after]) if written is None else written

    def _said(self, words: str) -> str:
        said = words.replace(_NO_BREAK_SPACE, _HARD_SPACE) if self._has_hard_space else words
        return said.translate(self._no_block) if "{" in said else said


class Shown:
    """The text of an event, which is shown."""

    def __init__(self, text: str) -> None:
        looks = _Looks()
        parts = list(_divided(text))
        self._rows = [Row(tokens, looks) for tokens, _ in parts]
        self._ends = [end for _, end in parts]
        """What ends each line."""
        self.place = tuple(looks.place)
        """The tags that say where it is shown."""
        self.rows = [row for row in self._rows if row.words]
        """The lines that have words."""
        for row in self.rows[:-1]:
            row.is_last = False

    def written(self) -> str:
        """Return the text with its translation; a line whose translation is empty is left out."""
        parts = list[str]()
        for row, end in zip(self._rows, ["", *self._ends[:-1]], strict=True):
            parts += [end * (row.translation != ""), row.written()]
        return "".join(parts)


def _divided(text: str) -> Iterator[tuple[list[_Token], str]]:
    """Yield the parts of each line, and what ends it."""
    tokens, draws = list[_Token](), False
    for token in _TOKEN.finditer(text):
        if token["end"] is not None and not draws:
            yield tokens, token["end"]
            tokens = []
            continue
        if token["mark"] is not None:
            for said in _DRAWS.findall(token["mark"]):
                draws = said.strip("0") != ""
        tokens.append(_Token(token[0], is_text=token["mark"] is None and not draws))
    yield tokens, ""


def _words_of(raw: str) -> str:
    """Read the escapes in a text."""
    return raw.replace(_HARD_SPACE, _NO_BREAK_SPACE).replace(_BRACE, "{").replace(r"\}", "}")


def _length(pattern: re.Pattern[str], text: str) -> int:
    """Return how much of the beginning of a text matches."""
    found = pattern.match(text)
    return 0 if found is None else found.end()
