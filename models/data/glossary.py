"""Terms, and what a translation has to have for each: which of them a text has, and whether a translation says one."""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from models.data.documents import decode_line, read_lines
from models.data.markup import unmarked
from models.data.words import ENTITY, PICTURES, is_address
from models.errors import DataError

UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\U000f0000-\U0010ffff]")
"""What no term may have: ends of lines, other controls, and what stands for marks in a translation."""

_IDEOGRAPH: Final = re.compile(r"[々〆\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_RUNS_ON: Final = re.compile(rf"{_IDEOGRAPH.pattern}|[ぁ-ゟ\u0e00-\u109f\u1780-\u17ff\uac00-\ud7af]")
"""Where nothing shows where a word ends: Chinese characters, hiragana, Thai, Lao, Tibetan, Burmese, Khmer, and Korean,
whose particles are written together with words.
"""
_KATAKANA: Final = re.compile(r"[ァ-ヺー]")
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
        endings = range(_ENDING + 1 if _kind(self.target[-1]) == "letters" else 1)
        for found in re.finditer(re.escape(self.target), translation, capitals):
            ends = (found.end() + more for more in endings if _parts(translation, found.end() + more))
            if _parts(translation, found.start()) and (end := next(ends, None)) is not None:
                yield found.start(), end

    def at(self, translation: str, place: int) -> str:
        """As it is written at a place of a translation: with a capital where it begins a sentence that has some."""
        begins = not (any(map(str.isalnum, translation[:place])) or _RUNS_ON.search(translation))
        capital = self.target[0].upper()
        if not begins or not _in_small_letters(self.target) or len(capital) > 1 or is_address(self.target):
            return self.target
        return capital + self.target[1:]


class Found(NamedTuple):
    """Where a text has a term."""

    begin: int
    end: int
    term: Term


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
        self._small = _Words(filter(_in_small_letters, self._terms))
        self._others = _Words(source for source in self._terms if not _in_small_letters(source))

    def found(self, text: str) -> Iterator[Found]:
        """Each place of a text that has a term, in order; none overlaps another."""
        small, at = _in_small(text), 0
        while at < len(text):
            found = self._at(text, small, at)
            if found is not None:
                yield found
            at = at + 1 if found is None else found.end

    def of(self, text: str) -> tuple[Term, ...]:
        """Those that a text has, each once, in its order."""
        return tuple(dict.fromkeys(each.term for each in self.found(text))) if self._terms else ()

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
        if not _parts(text, at):
            return None
        sources = chain(self._small.at(small, at), self._others.at(text, at))
        longest = max((each for each in sources if _parts(text, at + len(each))), key=len, default=None)
        return None if longest is None else Found(at, at + len(longest), self._terms[longest])


class _Words:
    """Words that are found where a text has them, in a time that hardly grows with their number."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        self._first = frozenset(word[0] for word in self._words)
        self._longest = max(map(len, self._words), default=0)
        self._within: list[int] = []
        """For each word the longest of the others that it begins with, or -1."""
        for number, word in enumerate(self._words):
            other = number - 1
            while other >= 0 and not word.startswith(self._words[other]):
                other = self._within[other]
            self._within.append(other)

    def all_in(self, text: str) -> dict[str, None]:
        """Those that a text has anywhere, whatever follows."""
        found = dict[str, None]()
        for at in range(len(text)):
            for word in self.at(text, at) if _parts(text, at) else ():
                if word in found:
                    break  # as are all that it begins with
                found[word] = None
        return found

    def at(self, text: str, at: int) -> Iterator[str]:
        """Those that a text has at a place, the longest first."""
        if text[at] not in self._first:
            return
        # What the text begins with is before it, and of those the last is the longest, or begins with that.
        number = bisect_right(self._words, text[at : at + self._longest]) - 1
        while number >= 0:
            if text.startswith(self._words[number], at):
                yield self._words[number]
            number = self._within[number]


def read_terms(path: Path) -> tuple[Term, ...]:
    """The terms of a file: a line for each, source and target with a tab between.

    Raises:
        DataError: there is no such file, or a line is no such term, or has the source of one before it.
    """
    terms: dict[str, Term] = {}
    for number, line in enumerate(read_lines(path), 1):
        text = decode_line(path, number, line)
        source, _, target = (part.strip() for part in text.partition("\t"))
        if (text and not (source and target)) or UNFIT.search(source + target):
            raise DataError("is no source and target with a tab between", path, number)
        if source in terms:
            raise DataError("has the source of a line before it", path, number)
        if text:
            terms[source] = Term(source, target)
    return tuple(terms.values())


def places_of(words: str, text: str) -> list[tuple[int, int]]:
    """Where a text has some words, whatever their capitals, unless they may be part of other ones."""
    found = [each.span() for each in re.finditer(re.escape(words), text, re.IGNORECASE)]
    return [
        (begin, end)
        for begin, end in found
        if all(_parts(text, at) and not _among_ideographs(text, at) for at in (begin, end))
    ]


def _said(entity: re.Match[str]) -> str:
    said = html.unescape(entity[0])
    return " " if said.isspace() else said


def _in_plural(term: Term) -> Term | None:
    """A term in the plural of English, for a language that is written without spaces: none of these has a plural."""
    if not (_ENGLISH.search(term.source) and (_RUNS_ON.match(term.target) or _KATAKANA.match(term.target))):
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


def _parts(text: str, at: int) -> bool:
    """Whether no word goes on from before a place to behind it."""
    if at == 0 or at >= len(text):
        return True
    after = text[at]
    before, behind = _kind(text[at - 1]), _kind(after)
    return unicodedata.category(after)[0] != "M" and (before is None or before != behind)


def _among_ideographs(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(_IDEOGRAPH.match(each) for each in text[at - 1 : at + 1])


def _kind(character: str) -> str | None:
    """What a character may make up a word with; none where that does not show."""
    if _RUNS_ON.match(character):
        return None
    if _KATAKANA.match(character):
        return "katakana"
    return "letters" if unicodedata.category(character)[0] in "LMN" else None


NO_TERMS: Final = Glossary(())
