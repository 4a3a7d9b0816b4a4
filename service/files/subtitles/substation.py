"""Subtitles of Advanced SubStation Alpha and of its predecessor (.ass, .ssa), as HTML.

The text of dialogue is translated, in the order of time, which need not be that of the file. A sentence that goes on in
the next line or event is translated as one, as in other subtitles. Everything else stays the same, byte for byte.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.errors import InvalidInputError
from service.files.numbered import paragraphs_of, pieces_of
from service.files.plain import text_like, text_of
from service.files.subtitles.continued import MOST_PIECES, divided, goes_on, with_gap
from service.files.subtitles.override_blocks import Row, Shown

_LINES: Final = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")
_EVENTS: Final = "[events]"
"""The heading of the section that has the dialogue."""
_FORMAT: Final = re.compile(r"\s*+Format\s*+:", re.IGNORECASE)
_DIALOGUE: Final = re.compile(r"\s*+Dialogue\s*+:", re.IGNORECASE)
_USUAL: Final[Sequence[str]] = (
    "layer",
    "start",
    "end",
    "style",
    "name",
    "marginl",
    "marginr",
    "marginv",
    "effect",
    "text",
)
"""The fields of dialogue in a file that does not say which they are."""
_TIME: Final = re.compile(r"\s*+([0-9]{1,4}):([0-9]{1,2}):([0-9]{1,2})(?:[.:,]([0-9]{1,3}))?")
_FOR_PROGRAMS: Final = re.compile(r"\s*+(?:fx|(?:code|mixin|template)\b.*)\s*", re.IGNORECASE | re.DOTALL)
"""The effect of events that Aegisub's templates for karaoke are, or have made: a syllable each."""
_MOST_LINES: Final = 50_000
"""The most lines of dialogue, of which an event may have several: each takes a kilobyte or two of memory."""


@dataclass(slots=True)
class _Event:
    """A line of dialogue."""

    number: int
    """Of its line."""
    begin: int
    """Where its text begins in the line."""
    start: int
    """When it is shown, in milliseconds."""
    end: int
    style: str
    actor: str
    shown: Shown


class _Sentence:
    """What is translated at once: a line, or several in which one sentence goes on."""

    def __init__(self, row: Row) -> None:
        self._rows = [row]

    def goes_on(self, row: Row) -> bool:
        """Return whether it goes on in another line, which looks the same."""
        last = self._rows[-1]
        is_alike = last.look is not None and last.look == row.look
        return is_alike and len(self._rows) < MOST_PIECES and goes_on(last.words, row.words)

    def add(self, row: Row) -> None:
        """Append another line."""
        self._rows.append(row)

    def html(self) -> str:
        if len(self._rows) == 1:
            return self._rows[0].html
        pieces = [row.words for row in self._rows]
        return html.escape("".join(map(with_gap, ["", *pieces], pieces)), quote=False)

    def translate(self, translation: str) -> None:
        """Give its lines their parts of the translation."""
        if len(self._rows) == 1:
            self._rows[0].translation = translation
            return
        words = "".join(piece for piece in pieces_of(translation) if isinstance(piece, str)).strip()
        for row, piece in zip(self._rows, divided(words, [len(row.words) for row in self._rows]), strict=True):
            row.translation = html.escape(piece, quote=False)


class _Script:
    """A file, its dialogue, and the sentences of that."""

    def __init__(self, text: str) -> None:
        self._lines: list[str] = _LINES.findall(text)
        self._events = sorted(_events(self._lines), key=lambda event: event.start)
        self.sentences: list[_Sentence] = []
        self._copies: list[tuple[_Event, _Event]] = []
        """Events that say the same as another one, while that one is shown or right after it, and that one."""
        self._last: _Event | None = None
        self._last_of: dict[str, _Event] = {}
        """The last event of each style that was read."""
        self._last_sentences: dict[int, _Sentence] = {}
        """The last sentence of each of those, by the numbers of their lines."""
        self._read()

    def written(self) -> str:
        """Return the file with its translations."""
        for copy, event in self._copies:
            for row, other in zip(copy.shown.rows, event.shown.rows, strict=True):
                row.translation = other.translation
        for event in self._events:
            line = self._lines[event.number]
            end = line[len(line.rstrip("\r\n")) :]
            self._lines[event.number] = f"{line[: event.begin]}{event.shown.written()}{end}"
        return "".join(self._lines)

    def _read(self) -> None:
        until: dict[tuple[str, ...], tuple[_Event, int]] = {}
        """By what they say: events, and until when it is shown."""
        for event in self._events:
            said = tuple(row.html for row in event.shown.rows)
            if not said:
                continue
            first, end = until.get(said, (event, -1))
            if event.start <= end:
                self._copies.append((event, first))
            else:
                first = event
                self._add(event)
            until[said] = first, max(end, event.end)

    def _add(self, event: _Event) -> None:
        before = self._before(event)
        sentence = None if before is None else self._last_sentences[before.number]
        for row in event.shown.rows:
            if sentence is not None and sentence.goes_on(row):
                sentence.add(row)
            else:
                sentence = _Sentence(row)
                self.sentences.append(sentence)
        if sentence is not None:
            self._last = self._last_of[event.style] = event
            self._last_sentences[event.number] = sentence

    def _before(self, event: _Event) -> _Event | None:
        """Return the event whose sentence may go on in another: of the same style and actor, at the same place.

        Nothing else may come in between, but what came while it was shown, such as a sign.
        """
        before = self._last_of.get(event.style)
        if before is None or self._last is None or before.start == event.start:
            return None
        is_alike = before.actor == event.actor and before.shown.place == event.shown.place
        return before if is_alike and (self._last is before or self._last.start < before.end) else None


def html_of(content: bytes) -> str:
    """Return the dialogue of a file as paragraphs, one sentence or line each.

    Raises:
        InvalidInputError: it is no such file, has too many lines of dialogue, or is in an encoding that is not read.
    """
    return "".join(f"<p>{sentence.html()}</p>" for sentence in _Script(text_of(content)).sentences)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its dialogue replaced by `translation`: the translated result of `html_of`."""
    script = _Script(text_of(content))
    for sentence, said in zip(script.sentences, paragraphs_of(translation), strict=True):
        sentence.translate(said)
    return text_like(content, script.written())


def _events(lines: Sequence[str]) -> Iterator[_Event]:
    """Yield the dialogue in the order of the file, but what is for programs."""
    fields = _USUAL
    is_inside, is_there, count = False, False, 0
    for number, line in enumerate(lines):
        if line.startswith("["):
            is_inside = line.strip().lower() == _EVENTS
            is_there |= is_inside
        elif is_inside and (found := _FORMAT.match(line)):
            fields = _fields(line[found.end() :], number)
        elif is_inside and (found := _DIALOGUE.match(line)):
            count += 1 + line.count(r"\N") + line.count(r"\n")
            if count > _MOST_LINES:
                raise InvalidInputError(f"file: has more than {_MOST_LINES} lines of dialogue")
            if (event := _event(number, line.rstrip("\r\n"), found.end(), fields)) is not None:
                yield event
    if not is_there:
        raise InvalidInputError("file: has no section [Events], which subtitles in .ass and .ssa have")


def _fields(said: str, number: int) -> Sequence[str]:
    fields = [name.strip().lower() for name in said.split(",")]
    if fields[-1] != "text":
        raise InvalidInputError(f"file: line {number + 1}: the last field is not Text")
    return fields


def _event(number: int, line: str, begin: int, fields: Sequence[str]) -> _Event | None:
    """Read a line of dialogue; None if it is for programs, or has not all fields."""
    values = line[begin:].split(",", len(fields) - 1)
    if len(values) < len(fields):
        return None
    said: Mapping[str, str] = dict(zip(fields, values, strict=True))
    if _FOR_PROGRAMS.fullmatch(said.get("effect", "")):
        return None
    text = values[-1]
    start, end = (_milliseconds(said.get(name, "")) for name in ("start", "end"))
    actor = said.get("name", said.get("actor", ""))
    return _Event(number, len(line) - len(text), start, end, said.get("style", "").strip(), actor.strip(), Shown(text))


def _milliseconds(said: str) -> int:
    """Return a time; 0 if it is none, as players have it."""
    found = _TIME.match(said)
    if found is None:
        return 0
    hours, minutes, seconds = map(int, found.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + int((found[4] or "").ljust(3, "0"))
