"""A text as a model reads it, and the conversion of its translation to one of the original text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from models.text.glossary import Glossary, Term
from models.text.markup import NO_MARKS, Unmarked, with_parts_replaced
from models.text.word_edges import places_of
from models.text.words import beside, stands_apart

STAND_INS: Final = ("ABC", "JR", "NHK", "DVD")
"""Stand-ins for addresses, placeholders or terms: the words that both shipped models copy most reliably."""

_MISCOUNTED: Final = (2, 0, 1)
"""Penalty if a translation has a stand-in not at all, once, or more often."""


@dataclass(frozen=True, slots=True)
class Spelt:
    """A text as a model reads it, and all that the model does not read."""

    text: str
    plain: str
    """The same with all of its characters, for a tokenizer with another vocabulary."""
    replaced: tuple[tuple[str, str], ...] = ()
    """Stand-ins, each with the text it stands for."""
    left_out: tuple[str, ...] = ()
    escaped: tuple[tuple[str, str], ...] = ()
    """Characters, each with the entity that the text has for it."""
    marks: Unmarked = NO_MARKS
    """The text's marks, and the text without them; `NO_MARKS` if it has none."""
    terms: tuple[Term, ...] = ()
    """Terms that a translation has to contain."""
    told: tuple[tuple[str, Term], ...] = ()
    """Stand-ins, each with the term it stands for."""
    worded: tuple[tuple[str, Term], ...] = ()
    """What the model itself says for terms."""

    @property
    def asks(self) -> bool:
        """Whether a translation has to be checked for something."""
        return bool(self.replaced or self.terms)

    def as_read(self, translation: str) -> str:
        """Convert a translation of the original text to one of the text as read: without marks, with stand-ins."""
        translation = self.marks.of(translation)
        for stand_in, stood_for in self.stand_ins.items():
            translation = translation.replace(stood_for, stand_in, 1)
        if not self.escaped:
            return translation
        said = {entity: character for character, entity in self.escaped}
        return re.sub("|".join(map(re.escape, said)), lambda found: said[found[0]], translation)

    def lost(self, translation: str) -> int:
        """Count what should be in a translation of the text as read but is not.

        A missing stand-in counts twice; one that is repeated or part of another word counts once, and so does a term
        that is missing: it is at least said in other words, unless its stand-in is missing, too.
        """
        if not self.stand_ins:
            return len(self.missing(translation))
        copies = Counter(found[1] for found in self._pattern().finditer(translation))
        rest = self._pattern().sub("", translation)
        spoilt = sum(_MISCOUNTED[min(copies[stand_in], 2)] + (stand_in in rest) for stand_in in self.stand_ins)
        return spoilt + len(self.missing(translation))

    def missing(self, translation: str) -> list[Term]:
        """Return the terms missing in a translation of the text as read; verbatim text in it contains none."""
        if not self.terms:
            return []
        said = self._copied(self.in_terms(translation), dict.fromkeys(self.stand_ins, ""), dict(self.told))
        return [term for term in self.terms if not term.is_said(said)]

    def in_terms(self, translation: str) -> str:
        """Replace what the model itself says for terms in a translation of the text as read by these terms.

        Not if it says that more often than the text has the term, as it may then mean something else.

        Args:
            translation: may have placeholders for marks.
        """
        return with_parts_replaced(translation, self._wordings) if self.worded else translation

    def _wordings(self, translation: str) -> Iterator[tuple[int, int, str]]:
        """Yield the places of such wordings in order, with the terms; of overlapping ones the first and longest."""
        asked = Counter(found.term.target for found in Glossary(self.terms).found(self.plain))
        found = list[tuple[int, int, str]]()
        for wording, term in self.worded:
            places = places_of(wording, translation)
            as_a_stand_in = any(stand_in in term.target for stand_in in self.stand_ins)
            if len(places) <= asked[term.target] and not (as_a_stand_in or term.is_said(translation)):
                found += [(*place, term.at(translation, place[0])) for place in places]
        last = 0
        for begin, end, said in sorted(found, key=lambda each: (each[0], -each[1])):
            if begin >= last:
                yield begin, end, said
                last = end

    def retold(self, turn: int) -> "Spelt | None":
        """Return the text with other stand-ins, different for each turn; None if there are no others left."""
        used, others = list(self.stand_ins), self.free
        free: list[str] = [stand_in for stand_in in STAND_INS if stand_in in used or stand_in in others]
        if not used or turn >= len(free):
            return None
        return self._with([free[(free.index(stand_in) + turn) % len(free)] for stand_in in used])

    def read_like(self, other: "Spelt") -> "Spelt":
        """Return the text with the stand-ins of another one, in which they stand for the same."""
        same = list(self.stand_ins.values()) == list(other.stand_ins.values())
        return self._with(list(other.stand_ins)) if same and self.stand_ins else self

    def _with(self, stand_ins: Sequence[str]) -> "Spelt":
        """Return the text with these stand-ins in place of its own."""
        others = dict(zip(self.stand_ins, stand_ins, strict=True))
        own = re.compile("|".join(others))
        text, plain = (own.sub(lambda found: others[found[0]], each) for each in (self.text, self.plain))
        replaced = tuple((others[stand_in], verbatim) for stand_in, verbatim in self.replaced)
        told = tuple((others[stand_in], term) for stand_in, term in self.told)
        return replace(self, text=text, plain=plain, replaced=replaced, told=told)

    @property
    def free(self) -> list[str]:
        """Stand-ins that occur neither in the text nor in one of its terms, in any case."""
        said = as_tokenized(" ".join([self.plain, *(f"{term.source} {term.target}" for term in self.terms)])).upper()
        return [stand_in for stand_in in STAND_INS if stand_in not in said]

    @property
    def stand_ins(self) -> dict[str, str]:
        """All stand-ins, each with the text it is replaced by."""
        return dict(self.replaced) | {stand_in: term.target for stand_in, term in self.told}

    def _pattern(self) -> re.Pattern[str]:
        """Return a pattern of the stand-ins in a translation, including English plurals."""
        return re.compile(rf"(?<![A-Za-z0-9])({'|'.join(self.stand_ins)})s?(?![A-Za-z0-9])")

    def restored(self, translation: str) -> str:
        """Restore in a translation of the text as read all that was not read, each as often as the text has it.

        Marks go to their placeholders (`models.text.markup.with_places`). Verbatim text that the model has dropped is
        appended, separated by spaces in any language, as an address ends at one. Terms that it has dropped are not.
        """
        missing, entities = dict(self.replaced), {ord(character): entity for character, entity in self.escaped}
        terms = {stand_in: replace(term, target=term.target.translate(entities)) for stand_in, term in self.told}
        translation = self._mended(self._set_apart(translation.translate(entities)))
        translation = self._said_once(self._copied(translation, missing, terms))
        return self.marks.marked(translation, *missing.values(), *self.left_out)

    def _set_apart(self, translation: str) -> str:
        """Put a space between a stand-in and another one, or digits, that a translation has it together with: ABCJR."""
        if not self.stand_ins:
            return translation
        either = "|".join(self.stand_ins)
        return re.sub(rf"(?:{either})(?=(?:{either})|[0-9])|[0-9](?={either})", r"\g<0> ", translation)

    def _mended(self, translation: str) -> str:
        """Write each stand-in as it is that a translation has only with a few letters too many: DVDD, NABC, JRJR."""
        copied = {found[1] for found in self._pattern().finditer(translation)} if self.stand_ins else set()
        for stand_in in (each for each in self.stand_ins if each not in copied):
            spoilt = rf"(?<![A-Za-z0-9])(?:[A-Za-z]{{0,2}}{stand_in})+[A-Za-z]{{0,2}}(?![A-Za-z0-9])"
            translation = re.sub(spoilt, stand_in, translation, count=1)
        return translation

    def _said_once(self, translation: str) -> str:
        """Remove a full stop behind a term that has its own, and a half of the day before a time that has its own."""
        for term in self.terms:
            if term.target.endswith("."):
                translation = re.sub(rf"({re.escape(term.target)})\.(?!\.)", r"\1", translation)
            elif term.target.startswith(("午前", "午後")):
                translation = re.sub(f"午[前後](?={re.escape(term.target)})", "", translation)
        return translation

    def _copied(self, translation: str, verbatim: dict[str, str], terms: dict[str, Term]) -> str:
        """Replace stand-ins in a translation by what they stand for, each once, and remove further copies of them."""

        def original(found: re.Match[str]) -> str:
            term = terms.pop(found[1], None)
            return _apart(verbatim.pop(found[1], ""), found) if term is None else term.at(found.string, found.start())

        return self._pattern().sub(original, translation) if verbatim or terms else translation


def as_tokenized(text: str) -> str:
    """Normalise a text as SentencePiece does, to which ＡＢＣ is ABC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _apart(verbatim: str, found: re.Match[str]) -> str:
    """Return the replacement of a stand-in, with spaces where an adjacent letter would become part of it."""
    if not stands_apart(verbatim):
        return verbatim
    before, after = beside(found)
    return f"{' ' if before.isalnum() else ''}{verbatim}{' ' if after.isalnum() else ''}"
