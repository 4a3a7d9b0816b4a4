"""Where sentences end within a line: `sentencex` decides, for the language; here is what it is told besides.

Each rule stands for texts that the library divides where a reader would not, or not where a reader would.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain

import sentencex

from models.data.markup import split_unmarked
from models.data.spacing import primary
from models.data.words import ENTITY
from service.segmentation.disguise import disguised

_ENTITY = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_ENUMERATOR = re.compile(
    r"\s*\(?(?:[0-9]{1,4}|[IVX]{1,5}|[ivx]{1,5}|[Ａ-Ｚａ-ｚア-ン]|[一二三四五六七八九十]{1,3})[.)．]\s*"
)
"""`1.` is no sentence but the beginning of one, and so are `IV.` and `イ．`."""
_PAIRS = dict(zip("「『（〔【《〈“‘«„([", "」』）〕】》〉”’»“)]", strict=True)) | {'"': '"'}
_NO_BRACKETS = str.maketrans(dict.fromkeys("".join([*_PAIRS, *_PAIRS.values()]), " "))
_CLOSING = re.compile(r"[\s」』）】〉》”’»)\]]+")
"""Closing brackets alone belong to what they close."""
_BRACKETED = re.compile(r"\s*(?:（[^（）]*[。．！？]）|\((?:(?=[^()]*\s)[^()]*[.!?]|[^()]*[。！？])\))[¹²³⁰⁴-⁹†‡]*+\s*")
"""A sentence in brackets, which the library takes for the beginning of the next one; not (U.S.), which is one word."""
_WITHIN_WORD = re.compile(r"[/\\,;:]|[A-Z]{2,}(?![a-z])|[A-Z][a-z0-9]*+(?:[A-Z]\w*+|\()", re.ASCII)
"""What goes on right behind a full stop: a/../b, System.IO, Console.WriteLine; but not I said so.He went."""
_WORD_BEGUN = re.compile(r"(?:^|[\s*\"'“‘«„(\[/])\.{1,2}$")
"""A full stop behind nothing is one of .NET, ./a, ../a or *.*"""
_SIGN_QUOTED = re.compile(r"(?:^|[\s(])[\"'“‘«„][.!?…]{1,3}[\"'”’»“]\s*$")
"""A sign that is spoken of ends nothing: press '?' for help."""
_ATTRIBUTION = re.compile(r"[—–-]\s?[^\W\d_]")
"""— сказал он, —dijo él: what follows speech, behind a dash and in lower case, belongs to its sentence."""
_SHORT_WORD = re.compile(r"(?:^|[\s.(«„“\"-])[^\W\d_]{1,4}\.\s*$")
"""Before a lower-case letter a short word with a full stop is an abbreviation: т. е. да, J.-C. est né.

Not in English, where the library knows the abbreviations, and chats are written in lower case.
"""
_HALF_OF_DAY = re.compile(r"\b[ap]\.m\.\s*$")
_ZONE = re.compile(r"(?:[ECMP][SD]?T|AEST|BST|CES?T|GMT|[IJK]ST|UTC|(?:Eastern|Central|Mountain|Pacific|local)\b)")
"""English: what says whose time it is belongs to it: 7 p.m. ET."""
_INITIAL = re.compile(r"(?:^|[^A-Za-zＡ-Ｚａ-ｚ])(?:[A-Z]\.|[Ａ-Ｚ]．)$")
"""Japanese and Chinese: a capital letter with a full stop, and text right behind it, as in J.S.バッハ, is no end."""
_PARTICLE = re.compile(
    r"って|を|[がはにのも](?=[^ぁ-ん、])"
    r"|と(?=[^ぁ-ん]|い[いうえわっ]|おも|おっしゃ|さけ|たず|こた|つぶや|わら|の|か(?!なり)|だけ|さえ)"
)
"""Japanese: after a bracket, or a called と, what cannot begin a sentence goes on with the one before."""

_BEFORE_NAMES = {
    "de": r"[Ii]nkl|[Ee]xkl|[Zz]zgl|Dipl\.-\w+",
    "en": "Rev|Ms|Mx|Mmes|Amb|Hon|[Vv]ols?|Nos|[Aa]pprox|[Ff]igs|[Ee]qs?|[Cc]h|[Cc]hap|[Pp]aras?|Secs|Refs|Ft"
    "|Assoc|[Ee]xcl|[Ii]ncl|[Tt]el",
    "es": "D|Da|Dña|Fr",
    "fr": "M|MM|Mgr|Mme|Mmes|Mlle|Me|Dr|Pr|St|Ste|janv|févr|avr|juil|sept|oct|nov|déc",
    "it": "[Pp]agg?|Ing|Dott",
    "ja": "Mr|Mrs|Ms|Dr|St|Prof",
    "pt": "[Pp]ágs?|Av",
    "ru": "им|рис|табл|гл|стр|ул|т\\. е|т\\. к|т\\. н|Т\\. е|Т\\. к",
    "zh": "Mr|Mrs|Ms|Dr|St|Prof",
}
"""Abbreviations with something after them, which the library's lists for these languages lack."""
_ORDINAL = {
    "de": r"(?:\b(?:[dD](?:er|ie|as|es|em|en)|[iI][mn]|[iI]ns|[aA][mb]|[zZ]u[mr]|[vV]om|[bB]eim|[bB]is|[sS]eit"
    r"|[uU]nd|[eE]ine?[mnrs]?|[iIsSmM](?:hre|eine)[mnrs]?)\s+[0-9]{1,3}\.\s*$)"
}
"""German: after an article or a preposition, a number with a full stop is an ordinal: im 19. Jahrhundert."""


class Boundaries:
    """The rules of one language."""

    def __init__(self, language: str) -> None:
        self._language = code = primary(language)  # most regions and scripts the library takes for unknown languages
        self._japanese = code == "ja"
        self._english = code == "en"
        self._without_spaces = code in {"ja", "zh"}
        held = [rf"(?:\b(?:{_BEFORE_NAMES[code]})\.\s*$)"] if code in _BEFORE_NAMES else []
        held += [_ORDINAL[code]] if code in _ORDINAL else []
        self._unfinished = re.compile("|".join(held)) if held else None

    def split(self, line: str, longest: int) -> list[str]:
        """The sentences of a line, each with the white space after it; joined they are the line.

        Tags, and other marks around words, make no difference, nor whether a character is an entity. `longest` is what
        a sentence may have, in characters. The library takes quadratic time, so a line is searched in windows of twice
        that, and what has no boundary within one is cut: too long in any case, it is for the caller to refuse.
        """
        return split_as_read(line, lambda read: self._sentences(read, longest))

    def _sentences(self, line: str, longest: int) -> Iterator[str]:
        whole = self._joined(self._pieces(line, longest), longest)
        for sentence in chain.from_iterable(map(self._apart, whole)):
            if opened := _opened(sentence, longest):
                yield from self._joined(_cut(sentence, self._searched(self._disguised(opened))), longest)
            else:
                yield sentence

    def _joined(self, pieces: Iterable[str], longest: int) -> Iterator[str]:
        """The same, where the library has divided a sentence."""
        held = ""
        for piece in pieces:
            if held and (len(held) > longest or not self._goes_on(held, piece)):
                yield held
                held = ""
            held += piece
        if held:
            yield held

    def _pieces(self, line: str, longest: int) -> Iterator[str]:
        disguised = self._disguised(line)
        start = 0
        while start < len(line):
            window = disguised[start : start + 2 * longest]
            pieces = self._searched(window)
            if start + len(window) < len(line) and len(pieces) > 1:
                pieces = pieces[:-1]  # the window may have cut the last one short: it begins the next window
            yield from _cut(line[start : start + len(window)], pieces)
            start += sum(map(len, pieces))

    def _disguised(self, text: str) -> str:
        return disguised(text, spaced=not self._without_spaces)

    def _searched(self, window: str) -> list[str]:
        """What the library makes of a window; the whole of it, where that is not the same text."""
        try:
            pieces = [piece for piece in sentencex.segment(self._language, window) if piece]
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what Rust raises is no Exception, and in no module
                raise
            return [window]
        return pieces if "".join(pieces) == window else [window]

    def _apart(self, sentence: str) -> Iterator[str]:
        """A sentence, and before it those in brackets that it begins with."""
        start = 0
        while (found := _BRACKETED.match(sentence, start)) and self._may_begin(sentence, found.end()):
            yield found[0]
            start = found.end()
        yield sentence[start:]

    def _may_begin(self, text: str, start: int) -> bool:
        """Whether a sentence may begin there in a text, behind a bracket."""
        first = text[start : start + 1]
        if not (first.isalnum() or first in _PAIRS) or first.islower():
            return False
        return not (self._japanese and _PARTICLE.match(text, start))

    def _goes_on(self, before: str, piece: str) -> bool:
        """Whether a sentence that the library has divided goes on."""
        end = before[-24:]  # enough for every rule, and so linear time
        attributed = _ATTRIBUTION.match(piece)
        return bool(
            _CLOSING.fullmatch(piece)
            or _ENUMERATOR.fullmatch(before)
            or (piece[0] == "-" and not before[-1].isspace())  # J.-C.
            or (before[-1] == "." and (_WITHIN_WORD.match(piece) or _WORD_BEGUN.search(end)))
            or _SIGN_QUOTED.search(end)
            or (self._japanese and before.endswith(("」", "』", "！", "？")) and _PARTICLE.match(piece))
            or (self._without_spaces and _INITIAL.search(end))
            or (attributed and attributed[0][-1].islower())
            or (not self._english and piece[0].islower() and _SHORT_WORD.search(end))
            or (self._english and _ZONE.match(piece) and _HALF_OF_DAY.search(end))
            or (self._unfinished and self._unfinished.search(end))
        )


def split_as_read(text: str, split: Callable[[str], Iterable[str]]) -> list[str]:
    """The pieces of a text, divided where it would be without its tags and other marks, and without entities.

    Args:
        text: that may have them.
        split: gives pieces that make up the text that it is given.
    """
    return split_unmarked(text, lambda unmarked: _split_with_characters(unmarked, split), whole_links=True)


def _split_with_characters(text: str, split: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """The pieces of a text, divided where it would be if its entities, as `&rdquo;`, were what they stand for."""
    ends, longer = list[int](), list[int]()

    def character(found: re.Match[str]) -> str:
        said = html.unescape(found[0])
        if len(said) != 1:
            return found[0]
        longer.append(len(found[0]) - 1 + (longer[-1] if longer else 0))
        ends.append(found.end() - longer[-1])
        return " " if said.isspace() else said

    read = _ENTITY.sub(character, text)
    start = 0
    for end in accumulate(map(len, split(read))):
        passed = bisect_right(ends, end)
        cut = end + (longer[passed - 1] if passed else 0)
        yield text[start:cut]
        start = cut


def _opened(sentence: str, longest: int) -> str | None:
    """What may be several sentences in brackets, of the same length without them: the library divides nothing within.

    Those around all of it, as a speech on a line of its own has them; any, where it would be too long else.
    """
    core = sentence.strip()
    if len(sentence) > longest:
        return sentence.translate(_NO_BRACKETS)
    if not core or not _enclosed(core):
        return None
    start = sentence.index(core)
    return f"{sentence[:start]} {core[1:-1]} {sentence[start + len(core) :]}"


def _enclosed(text: str) -> bool:
    """Whether a text begins with a bracket that ends with it."""
    opening, closing = text[0], _PAIRS.get(text[0])
    if closing is None or text[-1] != closing or len(text) == 1:
        return False
    depth = 0
    for character in text[:-1]:
        if character == closing and opening != closing:
            depth -= 1
        elif character == opening:
            depth += 1
        if depth == 0:
            return False
    return depth == 1


def _cut(text: str, like: Iterable[str]) -> Iterator[str]:
    """The text in pieces as long as others."""
    start = 0
    for piece in like:
        yield text[start : start + len(piece)]
        start += len(piece)
