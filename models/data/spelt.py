"""A text as a model reads it, and how a translation of that becomes one of the text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from models.data.glossary import Glossary, Term
from models.data.markup import NO_MARKS, Unmarked, with_parts_replaced
from models.data.word_edges import places_of
from models.data.words import beside, is_address

STAND_INS: Final = ("ABC", "JR", "NHK", "DVD")
"""What is read for an address, a placeholder or a term: the words that both shipped models copy most often."""

_MISCOUNTED: Final = (2, 0, 1)
"""What it costs that a translation has a stand-in not at all, once, or more often."""


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
    told: tuple[tuple[str, Term], ...] = ()
    """Stand-ins, each with the term that it stands for."""
    worded: tuple[tuple[str, Term], ...] = ()
    """What the model says by itself for terms."""

    @property
    def asks(self) -> bool:
        """Whether something has to be looked for in a translation."""
        return bool(self.replaced or self.terms)

    def as_read(self, translation: str) -> str:
        """A translation of the text, without marks and with the stand-ins that the text is read with."""
        translation = self.marks.of(translation)
        for stand_in, stood_for in self.stand_ins.items():
            translation = translation.replace(stood_for, stand_in, 1)
        if not self.escaped:
            return translation
        said = {entity: character for character, entity in self.escaped}
        return re.sub("|".join(map(re.escape, said)), lambda found: said[found[0]], translation)

    def lost(self, translation: str) -> int:
        """How much of what has to come back does not in a translation of what was read.

        A stand-in that is lacking counts twice, one that is repeated, or part of another word, once, and so does a term
        that is not said: at least it is said in other words, unless its stand-in is lacking, too.
        """
        if not self.stand_ins:
            return len(self.missing(translation))
        copies = Counter(found[1] for found in self._pattern().finditer(translation))
        rest = self._pattern().sub("", translation)
        spoilt = sum(_MISCOUNTED[min(copies[stand_in], 2)] + (stand_in in rest) for stand_in in self.stand_ins)
        return spoilt + len(self.missing(translation))

    def missing(self, translation: str) -> list[Term]:
        """The terms that a translation of what was read does not say; what is no word says none."""
        if not self.terms:
            return []
        said = self._copied(self.in_terms(translation), dict.fromkeys(self.stand_ins, ""), dict(self.told))
        return [term for term in self.terms if not term.is_said(said)]

    def in_terms(self, translation: str) -> str:
        """A translation of what was read, with terms in the place of what the model says for them by itself.

        It must not say that more often than the text has the term: else it may mean something else by it.

        Args:
            translation: perhaps with places for marks.
        """
        return with_parts_replaced(translation, self._wordings) if self.worded else translation

    def _wordings(self, translation: str) -> Iterator[tuple[int, int, str]]:
        """Where a translation has them, in its order, and the terms; of some that overlap the first and longest."""
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
        """The same text read with other stand-ins, each another one for every turn; none where there is no other."""
        used, others = list(self.stand_ins), self.free
        free: list[str] = [stand_in for stand_in in STAND_INS if stand_in in used or stand_in in others]
        if not used or turn >= len(free):
            return None
        return self._with([free[(free.index(stand_in) + turn) % len(free)] for stand_in in used])

    def read_like(self, other: "Spelt") -> "Spelt":
        """The same text with the stand-ins of another one, in which they stand for the same."""
        same = list(self.stand_ins.values()) == list(other.stand_ins.values())
        return self._with(list(other.stand_ins)) if same and self.stand_ins else self

    def _with(self, stand_ins: Sequence[str]) -> "Spelt":
        """The same text with these, one for each of its own."""
        others = dict(zip(self.stand_ins, stand_ins, strict=True))
        own = re.compile("|".join(others))
        text, plain = (own.sub(lambda found: others[found[0]], each) for each in (self.text, self.plain))
        replaced = tuple((others[stand_in], verbatim) for stand_in, verbatim in self.replaced)
        told = tuple((others[stand_in], term) for stand_in, term in self.told)
        return replace(self, text=text, plain=plain, replaced=replaced, told=told)

    @property
    def free(self) -> list[str]:
        """Stand-ins that neither the text nor one of its terms has, in capitals or not."""
        said = as_tokenized(" ".join([self.plain, *(f"{term.source} {term.target}" for term in self.terms)])).upper()
        return [stand_in for stand_in in STAND_INS if stand_in not in said]

    @property
    def stand_ins(self) -> dict[str, str]:
        """All stand-ins, each with what is said for it."""
        return dict(self.replaced) | {stand_in: term.target for stand_in, term in self.told}

    def _pattern(self) -> re.Pattern[str]:
        """Of stand-ins in a translation, and in the plural of English, too."""
        return re.compile(rf"(?<![A-Za-z0-9])({'|'.join(self.stand_ins)})s?(?![A-Za-z0-9])")

    def restored(self, translation: str) -> str:
        """A translation of what was read, with all that was not read, each as often as the text has it.

        Marks come where the translation has places for them (`models.data.markup.with_places`). What the model has
        dropped comes last, with spaces in any language: an address ends at one. A term that it has dropped does not.
        """
        missing, entities = dict(self.replaced), {ord(character): entity for character, entity in self.escaped}
        terms = {stand_in: replace(term, target=term.target.translate(entities)) for stand_in, term in self.told}
        translation = self._stopped_once(self._copied(translation.translate(entities), missing, terms))
        return self.marks.marked(translation, *missing.values(), *self.left_out)

    def _stopped_once(self, translation: str) -> str:
        """The same where a sentence ends with a term that has a full stop of its own."""
        for term in self.terms:
            if term.target.endswith("."):
                translation = re.sub(rf"({re.escape(term.target)})\.(?!\.)", r"\1", translation)
        return translation

    def _copied(self, translation: str, verbatim: dict[str, str], terms: dict[str, Term]) -> str:
        """A translation with what stand-ins stand for, each once; what is left of them is not in it."""

        def original(found: re.Match[str]) -> str:
            term = terms.pop(found[1], None)
            return _apart(verbatim.pop(found[1], ""), found) if term is None else term.at(found.string, found.start())

        return self._pattern().sub(original, translation) if verbatim or terms else translation


def as_tokenized(text: str) -> str:
    """A text as SentencePiece reads it, to which ＡＢＣ is ABC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _apart(verbatim: str, found: re.Match[str]) -> str:
    """What takes the place of a stand-in: an address with spaces, where a letter beside it would become part of it."""
    if not is_address(verbatim):
        return verbatim
    before, after = beside(found)
    return f"{' ' if before.isalnum() else ''}{verbatim}{' ' if after.isalnum() else ''}"
