"""Terms, and what a translation has to have for each: which of them a text has, and whether a translation says one."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from models.data.documents import decode_line, read_lines
from models.data.markup import unmarked
from models.errors import DataError

_KATAKANA: Final = re.compile(r"[ァ-ヺー]")
_RUNS_ON: Final = re.compile(r"[ぁ-ゟ々〆\u3400-\u9fff\uf900-\ufaff\u0e00-\u109f\u1780-\u17ff\U00020000-\U0003ffff]")
"""Where nothing shows where a word ends: hiragana, Chinese characters, Thai, Lao, Tibetan, Burmese, Khmer."""
_ENDING: Final = 2
"""Letters that may follow a term in a translation, as in shrines."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a word or a phrase is in the other language."""

    source: str
    target: str

    def is_said(self, translation: str) -> bool:
        """Whether a translation has it as a word, perhaps with an ending of one or two letters.

        Capitals do not matter where the term has none: it may begin a sentence.
        """
        capitals = re.IGNORECASE if _in_small_letters(self.target) else 0
        found = [each.span() for each in re.finditer(re.escape(self.target), translation, capitals)]
        return any(
            _parts(translation, begin) and any(_parts(translation, end + more) for more in range(_ENDING + 1))
            for begin, end in found
        )

    def count(self, text: str) -> int:
        """How often a text in the source language has it."""
        return sum(1 for _ in Glossary([self]).found(text))

    def at(self, translation: str, place: int) -> str:
        """As it is written at a place of a translation: one without capitals with one where it begins the sentence."""
        begins = not any(character.isalnum() for character in translation[:place])
        return self.target[0].upper() + self.target[1:] if begins and _in_small_letters(self.target) else self.target


def places_of(words: str, text: str) -> list[tuple[int, int]]:
    """Where a text has some words, whatever their capitals, unless they are part of other ones."""
    found = [each.span() for each in re.finditer(re.escape(words), text, re.IGNORECASE)]
    return [(begin, end) for begin, end in found if _parts(text, begin) and _parts(text, end)]


class Found(NamedTuple):
    """Where a text has a term."""

    begin: int
    end: int
    term: Term


class Glossary:
    """Terms that are found in texts; of two for the same the first counts.

    A term is a word or several: no part of a word of letters or of katakana. In other scripts nothing shows where a
    word ends, so what begins with a shorter term may be a word of its own, and the longest term is meant. Capitals do
    not matter where a term has none.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms: dict[str, Term] = {}
        lengths: dict[str, set[int]] = {}
        for term in terms:
            self._terms.setdefault(term.source, term)
            lengths.setdefault(term.source[0].lower(), set()).add(len(term.source))
        self._lengths = {first: sorted(each, reverse=True) for first, each in lengths.items()}

    def found(self, text: str) -> Iterator[Found]:
        """Each place of a text that has a term, in order; none overlaps another. Takes a time that is linear."""
        at = 0
        while at < len(text):
            term = self._at(text, at)
            end = at + (1 if term is None else len(term.source))
            if term is not None:
                yield Found(at, end, term)
            at = end

    def of(self, text: str) -> tuple[Term, ...]:
        """Those that a text has, without its marks, each once."""
        return tuple(dict.fromkeys(each.term for each in self.found(unmarked(text).text))) if self._terms else ()

    def _at(self, text: str, at: int) -> Term | None:
        for length in self._lengths.get(text[at].lower(), ()):
            said = text[at : at + length]
            term = self._terms.get(said)
            if term is None and (term := self._terms.get(said.lower())) and not _in_small_letters(term.source):
                continue
            if term is not None and _parts(text, at) and _parts(text, at + length):
                return term
        return None


NO_TERMS: Final = Glossary(())


def read_terms(path: Path) -> tuple[Term, ...]:
    """The terms of a file: a line for each, source and target with a tab between.

    Raises:
        DataError: there is no such file, or a line is no such term, or has the source of one before it.
    """
    terms: dict[str, Term] = {}
    for number, line in enumerate(read_lines(path), 1):
        text = decode_line(path, number, line)
        source, _, target = (part.strip() for part in text.partition("\t"))
        if text and not (source and target.isprintable() and target):
            raise DataError("is no source and target with a tab between", path, number)
        if source in terms:
            raise DataError("has the source of a line before it", path, number)
        if text:
            terms[source] = Term(source, target)
    return tuple(terms.values())


def _in_small_letters(text: str) -> bool:
    return text == text.lower()


def _parts(text: str, at: int) -> bool:
    """Whether no word goes on from before a place to behind it."""
    before, after = _kind(text[at - 1 : at]) if at > 0 else None, _kind(text[at : at + 1])
    return before is None or before != after


def _kind(character: str) -> str | None:
    """What a character may make up a word with; none where that does not show."""
    if not character or _RUNS_ON.match(character):
        return None
    if _KATAKANA.match(character):
        return "katakana"
    return "letters" if unicodedata.category(character)[0] in "LMN" else None
