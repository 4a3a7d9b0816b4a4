"""What has to stand in a translation as it stands in the source, and what a model reads in its place.

Of an address, of code, or of what a program fills in, a model makes something else, a piece at a time. So it reads a
word that it copies, and that is replaced again. Of an entity of HTML it reads the character, which is written so again.
Of emoji it knows nothing: it reads none of them, and they follow the translation.
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.entities import html5
from itertools import pairwise
from typing import Final

from models.data.characters import Nearest
from models.data.markup import NO_MARKS, Unmarked, unmarked
from models.data.words import ADDRESS, ENTITY, PICTURES, PLACEHOLDER, SIGNS, beside

STAND_INS: Final = ("ABC", "JR", "NHK", "DVD")
"""What is read in the place of an address or a placeholder: the words that both shipped models copy most often."""

_VERBATIM: Final = re.compile(f"(?P<address>{ADDRESS})|(?:{PLACEHOLDER})+", re.VERBOSE | re.ASCII)
"""Placeholders without anything between them are one; possessive, such a repetition of groups fails in Python 3.11."""
_PICTURES: Final = re.compile(
    rf"[{PICTURES}](?:[{PICTURES}\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]|\u200d(?=[{PICTURES}]))*"
)
"""One after another, with what they are joined by and say how they look."""
_LETTER: Final = re.compile(r"[A-Za-z0-9]")
_ENTITY: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Spelt:
    """A text as a model reads it, and what it does not read."""

    text: str
    plain: str
    """The same with all of its characters, for a tokenizer of another vocabulary."""
    replaced: tuple[tuple[str, str], ...] = ()
    """Stand-ins, each with what it stands for."""
    left_out: tuple[str, ...] = ()
    escaped: tuple[tuple[str, str], ...] = ()
    """Characters, each with the entity that the text has for it."""
    marks: Unmarked = NO_MARKS
    """The text as it was but for its marks, and these; without any, nothing."""

    def as_read(self, translation: str) -> str:
        """A translation of the text, without marks and with the stand-ins that the text is read with."""
        translation = self.marks.of(translation)
        for stand_in, verbatim in self.replaced:
            translation = translation.replace(verbatim, stand_in, 1)
        if not self.escaped:
            return translation
        said = {entity: character for character, entity in self.escaped}
        return re.sub("|".join(map(re.escape, said)), lambda found: said[found[0]], translation)

    def lost(self, translation: str) -> int:
        """How many stand-ins a translation of what was read lacks."""
        return len(self.replaced) - len({found[0] for found in self._stand_ins().finditer(translation)})

    def retold(self, turn: int) -> "Spelt | None":
        """The same text read with other stand-ins, each another one for every turn; none where there is no other."""
        used = [stand_in for stand_in, _ in self.replaced]
        plain = _as_tokenized(self.plain)
        free = [stand_in for stand_in in STAND_INS if stand_in in used or stand_in not in plain]
        if turn >= len(free):
            return None
        return self._with([free[(free.index(stand_in) + turn) % len(free)] for stand_in in used])

    def read_like(self, other: "Spelt") -> "Spelt":
        """The same text with the stand-ins of another one, in which they stand for the same."""
        same = [verbatim for _, verbatim in self.replaced] == [verbatim for _, verbatim in other.replaced]
        return self._with([stand_in for stand_in, _ in other.replaced]) if same and self.replaced else self

    def _with(self, stand_ins: Sequence[str]) -> "Spelt":
        """The same text with these, one for each of its own."""
        others = {stand_in: other for (stand_in, _), other in zip(self.replaced, stand_ins, strict=True)}
        own = re.compile("|".join(others))
        text, plain = (own.sub(lambda found: others[found[0]], each) for each in (self.text, self.plain))
        replaced = tuple((others[stand_in], verbatim) for stand_in, verbatim in self.replaced)
        return replace(self, text=text, plain=plain, replaced=replaced)

    def _stand_ins(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(stand_in for stand_in, _ in self.replaced)})(?![A-Za-z0-9])")

    def restored(self, translation: str) -> str:
        """A translation of what was read, with all that was not read, each as often as the text has it.

        Marks come where the translation has places for them (`models.data.markup.with_places`). What the model has
        dropped comes last, with spaces in any language: an address ends at one.
        """
        missing = dict(self.replaced)
        if self.escaped:
            translation = translation.translate({ord(character): entity for character, entity in self.escaped})

        def original(found: re.Match[str]) -> str:
            return _apart(missing.pop(found[0], ""), found)

        if missing:
            translation = self._stand_ins().sub(original, translation)
        return self.marks.marked(translation, *missing.values(), *self.left_out)


class Spelling:
    """How texts are read by a model of one vocabulary."""

    def __init__(self, nearest: Nearest) -> None:
        self._nearest = nearest

    def of(self, text: str) -> Spelt:
        """The text as the vocabulary can best spell it."""
        marks = unmarked(text)
        text = marks.text
        said = _as_tokenized(_ENTITY.sub(lambda found: html.unescape(found[0]), text))
        free = [one for one in STAND_INS if one not in text and one not in said]
        reading = _Reading(self._nearest, free, {at for pair in marks.pairs for at in (pair.begin, pair.end)})
        if any(sign in text for sign in SIGNS):
            text = _VERBATIM.sub(reading.stand_in, text)
        if "&" in text:
            text = _ENTITY.sub(reading.character, text)
        if not text.isascii():
            text = _PICTURES.sub(reading.pictures, text)
        return Spelt(
            self._nearest.of(text),
            text,
            tuple(reading.replaced),
            tuple(reading.left_out),
            tuple(reading.escaped.items()),
            marks if marks.any else NO_MARKS,
        )


@dataclass(slots=True)
class _Reading:
    """What is found in one text, from its beginning to its end."""

    nearest: Nearest
    free: list[str]
    edges: set[int]
    """Where marks stand in the text: what is on either side of one is not one."""
    replaced: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    escaped: dict[str, str] = field(default_factory=dict)

    def stand_in(self, found: re.Match[str]) -> str:
        """What is read in the place of an address or placeholders, apart from letters beside it."""
        start, end = found.span()
        cuts = [start, *sorted(at for at in self.edges if start < at < end), end]
        read = filter(None, (self._stand_in(found.string[a:b]) for a, b in pairwise(cuts)))
        before, after = (" " if _LETTER.match(character) else "" for character in beside(found))
        return f"{before}{' '.join(read)}{after}"

    def _stand_in(self, verbatim: str) -> str:
        """A word for it; nothing when there are more than stand-ins."""
        if not self.free:
            self.left_out.append(verbatim)
            return ""
        self.replaced.append((self.free[0], verbatim))
        return self.free.pop(0)

    def character(self, found: re.Match[str]) -> str:
        """What an entity says; signs are written in the same way again, letters and spaces are not."""
        name = found[0][1:]
        if not name.startswith("#") and name not in html5:  # unescape would take the beginning of one
            return found[0]
        said = html.unescape(found[0])
        if said.isspace():
            return " "
        if len(said) != 1 or not said.isprintable():
            return found[0]
        if not said.isalnum():
            self.escaped.setdefault(said, found[0])
        return said

    def pictures(self, found: re.Match[str]) -> str:
        """Pictures that the vocabulary has; else what keeps the words around them apart."""
        if self.nearest.has(found[0]):
            return found[0]
        self.left_out.append(found[0])
        joins = all(_LETTER.match(character) for character in beside(found))
        return " " if joins else ""


def _as_tokenized(text: str) -> str:
    """A text as SentencePiece reads it, to which ＡＢＣ is ABC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _apart(verbatim: str, found: re.Match[str]) -> str:
    """What takes the place of a stand-in: an address with spaces, where a letter beside it would become part of it."""
    address = _VERBATIM.match(verbatim)
    if address is None or address["address"] is None:
        return verbatim
    before, after = beside(found)
    return f"{' ' if before.isalnum() else ''}{verbatim}{' ' if after.isalnum() else ''}"
