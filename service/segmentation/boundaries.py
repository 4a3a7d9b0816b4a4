"""Split a line into sentences: `sentencex` does most of the work, and the rules here correct its mistakes.

Each rule covers texts that the library splits where a reader would not, or fails to split where a reader would.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain

import sentencex

from models.text.markup import split_unmarked
from models.text.spacing import primary, sentence_gap_of
from models.text.words import ENTITY
from service.segmentation.disguise import disguised

_ENTITY = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_ENUMERATOR = re.compile(
    r"\s*\(?(?:[0-9]{1,4}|[IVX]{1,5}|[ivx]{1,5}|[Ａ-Ｚａ-ｚア-ン]|[一二三四五六七八九十]{1,3})[.)．]\s*"
)
"""`1.`, `IV.` and `イ．` are not sentences, but begin one."""
_PAIRS = dict(zip("「『（〔【《〈“‘«„([", "」』）〕】》〉”’»“)]", strict=True)) | {'"': '"'}
_NO_BRACKETS = str.maketrans(dict.fromkeys("".join([*_PAIRS, *_PAIRS.values()]), " "))
_CLOSING = re.compile(r"[\s」』）】〉》”’»)\]]+")
"""A piece of nothing but closing brackets belongs to the sentence before it."""
_BRACKETED = re.compile(r"\s*(?:（[^（）]*[。．！？]）|\((?:(?=[^()]*\s)[^()]*[.!?]|[^()]*[。！？])\))[¹²³⁰⁴-⁹†‡]*+\s*")
"""A sentence in brackets, which the library attaches to the next one; but not (U.S.), which is one word."""
_WITHIN_WORD = re.compile(r"[/\\,;:]|[A-Z]{2,}(?![a-z])|[A-Z][a-z0-9]*+(?:[A-Z]\w*+|\()", re.ASCII)
"""What continues a word right after a full stop: a/../b, System.IO, Console.WriteLine; but not I said so.He went."""
_NAME_BEGUN = re.compile(r"[A-Za-z_]\w+\.[A-Za-z_]\w+\.$", re.ASCII)
_NAME_GOES_ON = re.compile(r"[A-Za-z]\w*+", re.ASCII)
"""Names of programs with several full stops, or in Japanese and Chinese: java.util.List; pathlib.Pathを使う。"""
_WORD_BEGUN = re.compile(r"(?:^|[\s*\"'“‘«„(\[/]|(?<![0-9])%[-*0-9]*+)\.{1,2}$")
"""A full stop with nothing before it, as in .NET, ./a, ../a, *.* or %.*s, ends no sentence."""
_SIGN_QUOTED = re.compile(r"(?:^|[\s(])[\"'“‘«„][.!?…]{1,3}[\"'”’»“]\s*$")
"""A quoted punctuation mark ends no sentence: press '?' for help."""
_ATTRIBUTION = re.compile(r"[—–-]\s?[^\W\d_]")
"""— сказал он, —dijo él: lower-case text after direct speech and a dash belongs to the same sentence."""
_SHORT_WORD = re.compile(r"(?:^|[\s.(«„“\"-])[^\W\d_]{1,4}\.\s*$")
"""Before a lower-case letter, a short word with a full stop is an abbreviation: т. е. да, J.-C. est né.

Not applied to English: the library knows its abbreviations, and chats are written in lower case.
"""
_HALF_OF_DAY = re.compile(r"\b[ap]\.m\.\s*$")
_ZONE = re.compile(r"(?:[ECMP][SD]?T|AEST|BST|CES?T|GMT|[IJK]ST|UTC|(?:Eastern|Central|Mountain|Pacific|local)\b)")
"""English: a time zone belongs to the time before it: 7 p.m. ET."""
_INITIAL = re.compile(r"(?:^|[^A-Za-zＡ-Ｚａ-ｚ])(?:[A-Z]\.|[Ａ-Ｚ]．)$")
"""Japanese and Chinese: a capital letter and a full stop with text right after them, as in J.S.バッハ, end nothing."""
_PARTICLE = re.compile(
    r"って|を|[がはにのも](?=[^ぁ-ん、])"
    r"|と(?=[^ぁ-ん]|い[いうえわっ]|おも|おっしゃ|さけ|たず|こた|つぶや|わら|の|か(?!なり)|だけ|さえ)"
)
"""Japanese: after a closing bracket, `！` or `？`, words that cannot begin a sentence continue the one before."""
_KOREAN_QUOTE = re.compile(r"[\"'”’」』》](?:[가-힣]|\s+(?:이?라|하)[고며는](?![가-힣]))")
"""Korean: a particle right behind a quotation, or a word for it, goes on: "가자."라고 말했다, "좋아!" 하고 외쳤다."""
_THAI_LETTER = re.compile(r"[\u0e00-\u0e7f]")
_LETTER_ALONE = r"(?:(?<![\w\u064b-\u065f\u0670])[\u0621-\u064a\u066e-\u06d3]\.\s*$)"
"""Arabic script: a letter with a full stop is a title or an initial, as in د. أحمد."""

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
"""Abbreviations before a name or the like, which the library's lists for these languages lack."""
_UNFINISHED = {
    **dict.fromkeys(("ar", "fa", "ur"), _LETTER_ALONE),
    "de": r"(?:\b(?:[dD](?:er|ie|as|es|em|en)|[iI][mn]|[iI]ns|[aA][mb]|[zZ]u[mr]|[vV]om|[bB]eim|[bB]is|[sS]eit"
    r"|[uU]nd|[eE]ine?[mnrs]?|[iIsSmM](?:hre|eine)[mnrs]?)\s+[0-9]{1,3}\.\s*$)",
    "ko": r"(?:(?<![0-9.])[0-9]{4}\.\s*(?:[0-9]{1,2}\.\s*){0,2}$)",
    "th": r"(?:(?:^|[\s.(])[\u0e00-\u0e7f]{1,4}\.\s*$)",
}
"""German: after an article or a preposition, a number with a full stop is an ordinal: im 19. Jahrhundert. Korean dates
are 2024. 5. 31. Thai has full stops for abbreviations, ม.ค. and ดร., and hardly for anything else.
"""


class Boundaries:
    """The sentence boundaries of one language."""

    def __init__(self, language: str) -> None:
        self._language = code = primary(language)  # the library does not know most codes with a region or script
        self._japanese = code == "ja"
        self._korean = code == "ko"
        self._english = code == "en"
        self._without_spaces = not sentence_gap_of(code)
        held = [rf"(?:\b(?:{_BEFORE_NAMES[code]})\.\s*$)"] if code in _BEFORE_NAMES else []
        held += [_UNFINISHED[code]] if code in _UNFINISHED else []
        self._unfinished = re.compile("|".join(held)) if held else None

    def split(self, line: str, longest: int) -> list[str]:
        """Split a line into sentences, each with the white space after it; joined, they are the line.

        Tags and other marks around words make no difference, nor does writing a character as an entity. `longest` is
        the most characters that a sentence may have. The library takes quadratic time, so a line is searched in windows
        of twice that length; text with no boundary within a window is cut there. It is too long in any case, and the
        caller has to deal with it.
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
        """Rejoin the pieces where the library has split a sentence."""
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
                pieces = pieces[:-1]  # the window may have cut the last piece short: the next window begins with it
            yield from _cut(line[start : start + len(window)], pieces)
            start += sum(map(len, pieces))

    def _disguised(self, text: str) -> str:
        return disguised(text, spaced=not self._without_spaces)

    def _searched(self, window: str) -> list[str]:
        """Return the library's pieces of a window; the whole window if it panics, or they are not the same text."""
        try:
            pieces = [piece for piece in sentencex.segment(self._language, window) if piece]
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a panic of Rust is no Exception, and in no module
                raise
            return [window]
        return pieces if "".join(pieces) == window else [window]

    def _apart(self, sentence: str) -> Iterator[str]:
        """Split the sentences in brackets that a sentence begins with from the rest of it."""
        start = 0
        while (found := _BRACKETED.match(sentence, start)) and self._may_begin(sentence, found.end()):
            yield found[0]
            start = found.end()
        yield sentence[start:]

    def _may_begin(self, text: str, start: int) -> bool:
        """Return whether a sentence may begin at `start`, right after a bracket."""
        first = text[start : start + 1]
        if not (first.isalnum() or first in _PAIRS) or first.islower():
            return False
        return not (self._japanese and _PARTICLE.match(text, start))

    def _goes_on(self, before: str, piece: str) -> bool:
        """Return whether `piece` continues the sentence before it, which the library has split."""
        end = before[-48:]  # enough for every rule, and keeps the time linear
        attributed = _ATTRIBUTION.match(piece)
        return bool(
            _CLOSING.fullmatch(piece)
            or _ENUMERATOR.fullmatch(before)
            or (piece[0] == "-" and not before[-1].isspace())  # J.-C.
            or (before[-1] == "." and (_WITHIN_WORD.match(piece) or _WORD_BEGUN.search(end)))
            or (before[-1] == "." and self._is_name(end, piece))
            or _SIGN_QUOTED.search(end)
            or (self._japanese and before.endswith(("」", "』", "！", "？")) and _PARTICLE.match(piece))
            or (self._korean and _KOREAN_QUOTE.match(end + piece[:4], len(end.rstrip()) - 1))
            or (before[-1] == "." and _THAI_LETTER.match(piece))
            or (self._without_spaces and _INITIAL.search(end))
            or (attributed and attributed[0][-1].islower())
            or (not self._english and piece[0].islower() and _SHORT_WORD.search(end))
            or (self._english and _ZONE.match(piece) and _HALF_OF_DAY.search(end))
            or (self._unfinished and self._unfinished.search(end))
        )

    def _is_name(self, end: str, piece: str) -> bool:
        """Return whether a full stop with no white space around it is within a name such as `java.util.List`."""
        goes_on = _NAME_GOES_ON.match(piece)
        if goes_on is None or not (end[-2:-1].isascii() and end[-2:-1].isalnum()):
            return False
        is_part_alone = piece[goes_on.end() :] == "."  # Collections. of System.Collections.Generic
        return self._without_spaces or is_part_alone or _NAME_BEGUN.search(end) is not None


def split_as_read(text: str, split: Callable[[str], Iterable[str]]) -> list[str]:
    """Split a text where `split` would if the text had no tags, other marks or entities.

    Args:
        text: may have tags, other marks and entities.
        split: returns the pieces of a text; joined, they have to be that text.
    """
    return split_unmarked(text, lambda unmarked: _split_with_characters(unmarked, split), whole_links=True)


def _split_with_characters(text: str, split: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Split a text where `split` would if its entities, such as `&rdquo;`, were the characters they stand for."""
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
    """Replace brackets by spaces, since the library splits nothing within them; None if there is no need to.

    Only a pair that encloses the whole sentence, as around speech on a line of its own, is replaced; but all brackets
    are if the sentence is longer than `longest`.
    """
    core = sentence.strip()
    if len(sentence) > longest:
        return sentence.translate(_NO_BRACKETS)
    if not core or not _enclosed(core):
        return None
    start = sentence.index(core)
    return f"{sentence[:start]} {core[1:-1]} {sentence[start + len(core) :]}"


def _enclosed(text: str) -> bool:
    """Return whether one pair of brackets encloses the whole text."""
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
    """Cut the text into pieces as long as those of `like`."""
    start = 0
    for piece in like:
        yield text[start : start + len(piece)]
        start += len(piece)
