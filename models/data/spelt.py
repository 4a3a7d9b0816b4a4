"""A text as a model reads it, and how a translation of that becomes one of the text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from models.data.glossary import Term, places_of
from models.data.markup import NO_MARKS, Unmarked
from models.data.words import ADDRESS, beside

STAND_INS: Final = ("ABC", "JR", "NHK", "DVD")
"""What is read for an address, a placeholder or a term: the words that both shipped models copy most often."""

_ADDRESS: Final = re.compile(ADDRESS, re.VERBOSE | re.ASCII)


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
    terms: tuple[Term, ...] = ()
    """What a translation has to say."""
    worded: tuple[tuple[str, Term], ...] = ()
    """What the model says by itself for terms."""

    @property
    def asks(self) -> bool:
        """Whether something may be lost in a translation."""
        return bool(self.replaced or self.terms)

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
        """How many stand-ins a translation of what was read lacks or repeats, and how many terms it does not say.

        So a term whose stand-in is lacking counts twice: it is not said in other words either.
        """
        copies = Counter(found[1] for found in self._stand_ins().finditer(translation)) if self.replaced else {}
        return sum(abs(copies.get(one, 0) - 1) for one, _ in self.replaced) + len(self.missing(translation))

    def missing(self, translation: str) -> list[Term]:
        """The terms that a translation of what was read does not say."""
        said = self._copied(self.in_terms(translation), dict(self.replaced)) if self.terms else ""
        return [term for term in self.terms if not term.is_said(said)]

    def in_terms(self, translation: str) -> str:
        """A translation of what was read, with terms in the place of what the model says for them by itself.

        It has to say that as often as the text has the term: else it may mean something else by it.
        """
        for wording, term in self.worded:
            said = places_of(wording, translation)
            if not term.is_said(translation) and len(said) == term.count(self.plain):
                for begin, end in reversed(said):
                    translation = translation[:begin] + term.at(translation, begin) + translation[end:]
        return translation

    def retold(self, turn: int) -> "Spelt | None":
        """The same text read with other stand-ins, each another one for every turn; none where there is no other."""
        used = [stand_in for stand_in, _ in self.replaced]
        if not used:
            return None
        plain = as_tokenized(self.plain)
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
        """In a translation, and in the plural of English, too."""
        stand_ins = "|".join(stand_in for stand_in, _ in self.replaced)
        return re.compile(rf"(?<![A-Za-z0-9])({stand_ins})s?(?![A-Za-z0-9])")

    def restored(self, translation: str) -> str:
        """A translation of what was read, with all that was not read, each as often as the text has it.

        Marks come where the translation has places for them (`models.data.markup.with_places`). What the model has
        dropped comes last, with spaces in any language: an address ends at one. A term that it has dropped does not.
        """
        missing = dict(self.replaced)
        if self.escaped:
            translation = translation.translate({ord(character): entity for character, entity in self.escaped})
        translation = self._copied(translation, missing)
        terms = {term.target for term in self.terms}
        last = (verbatim for verbatim in missing.values() if verbatim not in terms)
        return self.marks.marked(translation, *last, *self.left_out)

    def _copied(self, translation: str, stand_ins: dict[str, str]) -> str:
        """A translation with what stand-ins stand for, each once; what is left of them is not in it."""
        terms = {term.target: term for term in self.terms}

        def original(found: re.Match[str]) -> str:
            verbatim = stand_ins.pop(found[1], "")
            term = terms.get(verbatim)
            return _apart(verbatim, found) if term is None else term.at(found.string, found.start())

        return self._stand_ins().sub(original, translation) if stand_ins else translation


def as_tokenized(text: str) -> str:
    """A text as SentencePiece reads it, to which ＡＢＣ is ABC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _apart(verbatim: str, found: re.Match[str]) -> str:
    """What takes the place of a stand-in: an address with spaces, where a letter beside it would become part of it."""
    if not _ADDRESS.match(verbatim):
        return verbatim
    before, after = beside(found)
    return f"{' ' if before.isalnum() else ''}{verbatim}{' ' if after.isalnum() else ''}"
