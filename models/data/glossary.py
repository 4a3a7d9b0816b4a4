"""Terms, and what a translation has to have for each: which of them a text has, and whether a translation says one."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from models.data.documents import decode_line, read_lines
from models.data.markup import unmarked
from models.data.word_edges import kind_of, parts, runs_on
from models.data.word_list import WordList
from models.data.words import ENTITY, PICTURES, is_address
from models.errors import DataError

UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\U000f0000-\U0010ffff]")
"""What no term may have: ends of lines, other controls, and what stands for marks in a translation."""

_ENGLISH: Final = re.compile(r"[a-z]\Z")
_PLURALS: Final = (
    (re.compile(r"(?<=[^aeiou\W])y\Z"), "ies"),
    (re.compile(r"(?<=[sxz])\Z|(?<=ch|sh)\Z"), "es"),
    (re.compile(r"\Z"), "s"),
)
"""How English words end, and their plurals, but for those that are to be learnt by heart."""
_ENDING: Final = 2
"""Letters that may follow a term in a translation, as in shrines."""
_ENTITY: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_PICTURES: Final = re.compile(f"[{PICTURES}]")


@dataclass(frozen=True, slots=True)
class Term:
    """What a word or a phrase is in the other language."""

    source: str
    target: str

    def is_said(self, translation: str) -> bool:
        """Whether a translation has it as a word."""
        return any(self.places(translation))

    def places(self, translation: str) -> Iterator[tuple[int, int]]:
        """Where a translation has it as a word; one in letters perhaps with an ending of one or two more.

        Capitals do not matter where the term has none: it may begin a sentence.
        """
        capitals = re.IGNORECASE if _in_small_letters(self.target) else 0
        endings = range(_ENDING + 1 if kind_of(self.target[-1]) == "letters" else 1)
        for found in re.finditer(re.escape(self.target), translation, capitals):
            ends = (found.end() + more for more in endings if parts(translation, found.end() + more))
            if parts(translation, found.start()) and (end := next(ends, None)) is not None:
                yield found.start(), end

    def at(self, translation: str, place: int) -> str:
        """As it is written at a place of a translation: with a capital where it begins a sentence that has some."""
        begins = not (any(map(str.isalnum, translation[:place])) or runs_on(translation))
        capital = self.target[0].upper()
        if not begins or not _in_small_letters(self.target) or len(capital) > 1 or is_address(self.target):
            return self.target
        return capital + self.target[1:]


class Found(NamedTuple):
    """Where a text has a term."""

    begin: int
    end: int
    term: Term

    def overlaps(self, place: tuple[int, int]) -> bool:
        """Whether it and another place, from one character to before another, have a part in common."""
        return self.begin < place[1] and place[0] < self.end


class Glossary:
    """Terms that are found in texts; of two for the same the first counts.

    A term is a word or several: no part of a word of letters or of katakana. In other scripts nothing shows where a
    word ends, so what begins with a shorter term may be a word of its own, and the longest term is meant. Capitals do
    not matter where a term has none. An English term is found in the plural, too, where the other language has none.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms: dict[str, Term] = {}
        for term in terms:
            self._terms.setdefault(term.source, term)
        for plural in filter(None, map(_in_plural, list(self._terms.values()))):
            self._terms.setdefault(plural.source, plural)
        self._small = WordList(filter(_in_small_letters, self._terms))
        self._others = WordList(source for source in self._terms if not _in_small_letters(source))

    def found(self, text: str) -> Iterator[Found]:
        """Each place of a text that has a term, in order; none overlaps another."""
        if not self._terms:
            return
        small, at = _in_small(text), 0
        while at < len(text):
            found = self._at(text, small, at)
            if found is not None:
                yield found
            at = at + 1 if found is None else found.end

    def of(self, text: str) -> tuple[Term, ...]:
        """Those that a text has, each once, in its order."""
        return tuple(dict.fromkeys(each.term for each in self.found(text)))

    def may_be_in(self, text: str) -> tuple[Term, ...]:
        """Those that may be found in a text by who reads it: without marks and pictures, with what entities say.

        Of some that begin at the same place all of them, for the longest may reach into what is no word.
        """
        if not self._terms:
            return ()
        read = unmarked(text).text
        sources = dict[str, None]()
        for said in dict.fromkeys((read, _PICTURES.sub("", _ENTITY.sub(_said, read)))):
            sources |= self._small.all_in(_in_small(said)) | self._others.all_in(said)
        return tuple(self._terms[source] for source in sources)

    def _at(self, text: str, small: str, at: int) -> Found | None:
        if not parts(text, at):
            return None
        sources = chain(self._small.at(small, at), self._others.at(text, at))
        longest = max((each for each in sources if parts(text, at + len(each))), key=len, default=None)
        return None if longest is None else Found(at, at + len(longest), self._terms[longest])


def read_terms(path: Path) -> tuple[Term, ...]:
    """The terms of a file: a line for each, source and target with a tab between.

    Raises:
        DataError: there is no such file, or a line is no such term, or has the source of one before it.
    """
    terms: dict[str, Term] = {}
    for number, source, target in read_pairs(path):
        if source in terms:
            raise DataError("has the source of a line before it", path, number)
        terms[source] = Term(source, target)
    return tuple(terms.values())


def read_pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """The lines of a file that have anything: number, and source and target, between which a tab stands.

    Raises:
        DataError: there is no such file, or a line has no two.
    """
    for number, line in enumerate(read_lines(path), 1):
        text = decode_line(path, number, line)
        source, _, target = (part.strip() for part in text.partition("\t"))
        if text and (not (source and target) or UNFIT.search(source + target)):
            raise DataError("is no source and target with a tab between", path, number)
        if text:
            yield number, source, target


def _said(entity: re.Match[str]) -> str:
    said = html.unescape(entity[0])
    return " " if said.isspace() else said


def _in_plural(term: Term) -> Term | None:
    """A term in the plural of English, for a language that is written without spaces: none of these has a plural."""
    if not (_ENGLISH.search(term.source) and (runs_on(term.target[0]) or kind_of(term.target[0]) == "katakana")):
        return None
    for ending, plural in _PLURALS:
        if ending.search(term.source):
            return Term(ending.sub(plural, term.source), term.target)
    return None


def _in_small_letters(text: str) -> bool:
    return text == text.lower()


def _in_small(text: str) -> str:
    """A text in small letters, each character in its place."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


NO_TERMS: Final = Glossary(())
