"""Glossary terms: finding them in a source text, and checking whether a translation contains theirs."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from models.data.documents import decode_line, read_lines
from models.errors import DataError
from models.text.markup import unmarked
from models.text.widths import composed, narrowed
from models.text.word_edges import is_in_number, kind_of, parts, runs_on
from models.text.word_list import WordList
from models.text.words import ENTITY, MYRIADS, PICTURES, is_address

UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\U000f0000-\U0010ffff]")
"""Characters that no term may contain: line ends, other controls, and placeholders of marks in a translation."""

_ENGLISH: Final = re.compile(r"[a-z]\Z")
_PLURALS: Final = (
    (re.compile(r"(?<=[^aeiou\W])y\Z"), "ies"),
    (re.compile(r"(?<=[sxz])\Z|(?<=ch|sh)\Z"), "es"),
    (re.compile(r"\Z"), "s"),
)
"""Endings of English words and their plurals, apart from irregular ones."""
_ENDING: Final = 2
"""Letters that may follow a term in a translation, as in "shrines"."""
_MYRIAD: Final = re.compile(f"[{MYRIADS}]")
_ENTITY: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_PICTURES: Final = re.compile(f"[{PICTURES}]")


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase and its required translation."""

    source: str
    target: str
    others: tuple[str, ...] = ()
    """What a translation may have instead of the target."""

    def is_said(self, translation: str) -> bool:
        """Whether a translation contains the target term as a word, or another one that means the same."""
        return any(any(_places(said, translation)) for said in (self.target, *self.others))

    def places(self, translation: str) -> Iterator[tuple[int, int]]:
        """Yield where a translation contains the target as a word, letters possibly with one or two more as an ending.

        Case is ignored if the term has no capitals, as it may begin a sentence.
        """
        return _places(self.target, translation)

    def at(self, translation: str, place: int) -> str:
        """Return the target as written at a place of a translation: capitalised if it begins a cased sentence."""
        begins = not (any(map(str.isalnum, translation[:place])) or runs_on(translation))
        capital = self.target[0].upper()
        if not begins or not _in_small_letters(self.target) or len(capital) > 1 or is_address(self.target):
            return self.target
        return capital + self.target[1:]


def _places(target: str, translation: str) -> Iterator[tuple[int, int]]:
    capitals = re.IGNORECASE if _in_small_letters(target) else 0
    for found in re.finditer(re.escape(target), translation, capitals):
        if parts(translation, found.start()) and (end := _end(target, translation, found.end())) is not None:
            yield found.start(), end


def _end(target: str, translation: str, end: int) -> int | None:
    """Return where a word ends that begins with a target; None if the target is not the word.

    Any letters may follow a number: 1990 is in 1990s and 1990m2, but not in 19901, 1990.5 and 1990万. No capital is the
    ending of a word with capitals: LINE is in LINEs, but not in LINEE.
    """
    if target[-1].isdigit():
        return None if is_in_number(translation, end) or _MYRIAD.match(translation, end) else end
    endings = range(_ENDING + 1 if kind_of(target[-1]) == "letters" else 1)
    more = next((more for more in endings if parts(translation, end + more)), None)
    if more is None or not (_in_small_letters(target) or _in_small_letters(translation[end : end + more])):
        return None
    return end + more


class Found(NamedTuple):
    """An occurrence of a term in a text."""

    begin: int
    end: int
    term: Term

    def overlaps(self, place: tuple[int, int]) -> bool:
        """Whether it overlaps another place, given as its beginning and exclusive end."""
        return self.begin < place[1] and place[0] < self.end


class Glossary:
    """Terms to find in texts; of two with the same source the first counts.

    A term is one or several words: it is not found inside a word of letters or of katakana. In other scripts nothing
    shows where words end, so text that begins with a shorter term may be a word of its own, and the longest term is
    taken. Case is ignored if a term has no capitals. English terms are also found in the plural if the other language
    has none. Their characters may be composed in any way, and of any width; those of the texts are as `composed` has
    them.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._terms: dict[str, Term] = {}
        for term in terms:
            self._terms.setdefault(_looked_for(term.source), term)
        for plural in filter(None, map(_in_plural, list(self._terms.values()))):
            self._terms.setdefault(_looked_for(plural.source), plural)
        self._small = WordList(filter(_in_small_letters, self._terms))
        self._others = WordList(source for source in self._terms if not _in_small_letters(source))

    def found(self, text: str) -> Iterator[Found]:
        """Yield each occurrence of a term in a text, in order and without overlaps."""
        if not self._terms:
            return
        text = narrowed(text)
        small, at = _in_small(text), 0
        while at < len(text):
            found = self._at(text, small, at)
            if found is not None:
                yield found
            at = at + 1 if found is None else found.end

    def of(self, text: str) -> tuple[Term, ...]:
        """Return the terms of a text, each once, in order."""
        return tuple(dict.fromkeys(each.term for each in self.found(text)))

    def may_be_in(self, text: str) -> tuple[Term, ...]:
        """Return the terms that may be found in what is read of a text: without marks and pictures, entities decoded.

        Of terms that begin at the same place it returns all, as the longest may reach into something that is no word.
        """
        if not self._terms:
            return ()
        read = _looked_for(unmarked(text).text)
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
    """Read the terms of a file: one per line, source and target separated by a tab.

    Raises:
        DataError: there is no such file, or a line is malformed, or repeats the source of an earlier one.
    """
    terms: dict[str, Term] = {}
    for number, source, target in read_pairs(path):
        if source in terms:
            raise DataError("has the same source as an earlier line", path, number)
        terms[source] = Term(source, target)
    return tuple(terms.values())


def read_pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the non-empty lines of a file: number, source and target, which are separated by a tab.

    Raises:
        DataError: there is no such file, or a line is not a valid source and target separated by a tab.
    """
    for number, line in enumerate(read_lines(path), 1):
        text = decode_line(path, number, line)
        source, _, target = (part.strip() for part in text.partition("\t"))
        if text and (not (source and target) or UNFIT.search(source + target)):
            raise DataError("is not a source and a target separated by a tab", path, number)
        if text:
            yield number, source, target


def _looked_for(text: str) -> str:
    return narrowed(composed(text))


def _said(entity: re.Match[str]) -> str:
    said = html.unescape(entity[0])
    return " " if said.isspace() else said


def _in_plural(term: Term) -> Term | None:
    """Return an English term in the plural, for a language written without spaces, as none of these has a plural."""
    if not (_ENGLISH.search(term.source) and (runs_on(term.target[0]) or kind_of(term.target[0]) == "katakana")):
        return None
    for ending, plural in _PLURALS:
        if ending.search(term.source):
            return Term(ending.sub(plural, term.source), term.target)
    return None


def _in_small_letters(text: str) -> bool:
    return text == text.lower()


def _in_small(text: str) -> str:
    """Lower-case a text, keeping each character at its position."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


NO_TERMS: Final = Glossary(())
