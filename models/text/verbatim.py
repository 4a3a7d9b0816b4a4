"""What has to stand in a translation as it stands in the source, and what a model reads in its place.

Of an address, of code, or of what a program fills in, a model makes something else, a piece at a time. So it reads a
word that it copies, and that is replaced again; a term, too, where it has said it in other words than are asked for. Of
an entity of HTML, or an escape of Markdown, it reads the character, which is written so again. Of emoji and faces it
knows nothing: it reads none of them, and they follow the translation. How Japanese words are read aloud it does not
read: that is of no use elsewhere.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from html.entities import html5
from itertools import pairwise
from typing import Final

from models.text.characters import Nearest
from models.text.glossary import Glossary, Term
from models.text.letter_case import LetterCase
from models.text.markup import NO_MARKS, Pair, Unmarked, unmarked
from models.text.normalization.normalizer import normalizer_for
from models.text.spacing import primary
from models.text.spelt import STAND_INS, Spelt, as_tokenized
from models.text.weekdays import UNREAD, without_weekdays
from models.text.widths import composed, has_wide, narrowed
from models.text.word_edges import kind_of
from models.text.words import ADDRESS, ENTITY, HASHTAG, PICTURES, PLACEHOLDER, beside, may_have_verbatim

_VERBATIM: Final = re.compile(
    rf"(?P<address>{ADDRESS}) | (?: (?:{PLACEHOLDER}) (?: [:/.-] (?=[%{{]|\${{) )? )+", re.VERBOSE | re.ASCII
)
"""Placeholders with nothing between them, or a single sign as in %H:%M, are one: models make "%H: %M" of two.

Possessive, such a repetition of groups fails in Python 3.11.
"""
_PICTURES: Final = re.compile(
    rf"(?:[{PICTURES}]|[0-9#*]\ufe0f?\u20e3)"
    rf"(?:[{PICTURES}\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]|\u200d(?=[{PICTURES}]))*"
)
"""One after another, with what they are joined by and say how they look; keys with a digit or a sign, too."""
_FACES: Final = re.compile(
    r"""
      [m＼\\]? [(（]
        (?= [^()（）\n]{0,10}?
            (?: (?<![A-Za-z0-9]) (?<![A-Za-z0-9][ ]) [\^´] | \^ (?![ ]?[A-Za-z0-9]) | [｀￣] | (?<![ﾊ-ﾎ]) ﾟ
              | (?<![A-Za-z0-9]) [-T;><oO]_[-T;><oO] (?![A-Za-z0-9]) | _[ ]_ | ≧.≦ ) )
        [^()（）\n0-9々ぁ-ゖァ-ヂヅ-ヺ\u3400-\u9fff\U000f0000-\U0010ffff]{2,12}+
      [)）] (?: [m／/ﾉゞ;；]++ (?![A-Za-z/]) )?+                                        # (^_^)  (´・ω・｀)  m(_ _)m
    | (?<=\s) [:;]-?[()DP] (?![\w()])                                                  # :-)
    """,
    re.VERBOSE,
)
"""Faces of characters, as in chats."""
_HASHTAG: Final = re.compile(HASHTAG, re.VERBOSE)
_READ_ALOUD: Final = re.compile(
    r"｜(?P<marked>[^｜《》\s\U000f0000-\U0010ffff]{1,40}+)《[ぁ-ゖァ-ヺー・]{1,40}+》"
    r"|(?<=[々〆\u3400-\u9fff\uf900-\ufaff])《[ぁ-ゖァ-ヺー・]{1,40}+》|［＃[^［］\n]{1,80}+］"
)
"""How words are read, and how they look, in plain texts of novels: 字《じ》 ｜言葉《ことば》 ［＃「字」に傍点］"""
_STOPS: Final = ("", *".!?…。！？")
"""What hashtags are no more part of the sentence behind; nothing is left of a picture."""
_UNSEEN: Final = frozenset({"Cc", "Cf"})
"""Categories of characters that are for machines: controls, and formats."""
_ENTITY: Final = re.compile(ENTITY, re.VERBOSE | re.ASCII)
_ESCAPE: Final = re.compile(r"\\([*_#`~<>\[\]])")
"""A sign that would be a mark of Markdown without its backslash, which the model would leave out."""


class Spelling:
    """How texts are read by a model of one vocabulary."""

    def __init__(self, nearest: Nearest, source: str = "", target: str = "") -> None:
        """Read texts to be translated from one language to another as far as the `nearest` vocabulary allows.

        Without languages, read translations, whose numbers and letters stay as they are.
        """
        self._nearest = nearest
        self._case = LetterCase(nearest.vocabulary, source) if source else None
        self.normalized = normalizer_for(source, target)
        self._has_weekdays = (primary(source), primary(target)) == UNREAD

    def of(self, text: str) -> Spelt:
        """The text as the vocabulary can best spell it."""
        if "《" in text or "［＃" in text:
            text = _READ_ALOUD.sub(lambda found: found["marked"] or "", text)
        marks = unmarked(text)
        text, edges = _with_breaks(marks)
        said = as_tokenized(_ENTITY.sub(lambda found: html.unescape(found[0]), text)).upper()
        free = [one for one in STAND_INS if one not in text and one not in said]
        if self._case and has_wide(text):
            text = _narrowed(text)
        reading = _Reading(self._nearest, free, edges)
        text, labels = _without_labels(text, marks.pairs) if "#" in text else (text, [])
        if may_have_verbatim(text):
            text = _VERBATIM.sub(reading.stand_in, text)
        if "&" in text:
            text = _ENTITY.sub(reading.character, text)
        if "\\" in text:
            text = _ESCAPE.sub(reading.sign, text)
        text = _FACES.sub(reading.face, text)
        if not text.isascii():
            text = _PICTURES.sub(reading.pictures, text)
        text = self.normalized(composed(text))
        return Spelt(
            self._as_read(text, [stand_in for stand_in, _ in reading.replaced]),
            text,
            tuple(reading.replaced),
            (*reading.left_out, *labels),
            tuple(reading.escaped.items()),
            marks if marks.any else NO_MARKS,
        )

    def with_terms(self, spelt: Spelt, terms: Collection[Term]) -> Spelt:
        """The same text with stand-ins for some of its terms, from its beginning on, for as many as there are."""
        found = (each for each in Glossary(spelt.terms).found(spelt.plain) if each.term in terms)
        told, pieces, end = list[tuple[str, Term]](), list[str](), 0
        for stand_in, (begin, behind, term) in zip(spelt.free, found, strict=False):
            told.append((stand_in, term))
            pieces += [spelt.plain[end:begin], stand_in]
            end = behind
        plain = reduce(_joined, [*pieces, spelt.plain[end:]])
        stand_ins = [stand_in for stand_in, _ in (*spelt.replaced, *told)]
        return replace(spelt, text=self._as_read(plain, stand_ins), plain=plain, told=tuple(told))

    def _as_read(self, plain: str, stand_ins: Collection[str]) -> str:
        if self._case:
            plain = self._case.of(plain, stand_ins)
        return self._nearest.of(without_weekdays(plain) if self._has_weekdays else plain)

    def like(self, text: str, other: Spelt) -> Spelt:
        """A text read as another one that differs in its marks alone, with the same stand-ins for the same."""
        read = replace(self.of(text), terms=other.terms)
        told = [term for _, term in other.told]
        return (self.with_terms(read, told) if told else read).read_like(other)


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
    end: int = -1
    """Where the last address or placeholder ends in the text: the next one may begin there."""

    def stand_in(self, found: re.Match[str]) -> str:
        """What is read in the place of an address or placeholders, apart from letters beside it."""
        start, end = found.span()
        cuts = [start, *sorted(at for at in self.edges if start < at < end), end]
        read = filter(None, (self._stand_in(found.string[a:b]) for a, b in pairwise(cuts)))
        before, after = (" " if _runs_into(character) else "" for character in beside(found))
        follows, self.end = start == self.end, end
        return f"{' ' if follows else before}{' '.join(read)}{after}"

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
        if len(said) == 1 and unicodedata.category(said) == "Cf":  # such as a soft hyphen, which models do not read
            return ""
        if len(said) != 1 or not said.isprintable():
            return found[0]
        if not said.isalnum():
            self.escaped.setdefault(said, found[0])
        return said

    def sign(self, found: re.Match[str]) -> str:
        """What has a backslash before it, in the translation, too."""
        self.escaped.setdefault(found[1], found[0])
        return found[1]

    def pictures(self, found: re.Match[str]) -> str:
        """Pictures that the vocabulary has; else what keeps the words around them apart."""
        return found[0] if self.nearest.has(found[0]) else self.face(found)

    def face(self, found: re.Match[str]) -> str:
        """What keeps the words around it apart."""
        self.left_out.append(found[0].translate({ord(said): written for said, written in self.escaped.items()}))
        joins = all(map(_runs_into, beside(found)))
        return " " if joins else ""


def _narrowed(text: str) -> str:
    """Return a text in half width, but for what is for programs; numbers with units are for people."""
    pieces, end = list[str](), 0
    for found in _VERBATIM.finditer(text):
        if not (found[0][0].isdigit() or found[0][0] == "￥"):
            pieces += [narrowed(text[end : found.start()]), found[0]]
            end = found.end()
    return "".join([*pieces, narrowed(text[end:])])


def _with_breaks(marks: Unmarked) -> tuple[str, set[int]]:
    """Return a text without its marks, and where they stood; words on both sides of a <br> are kept apart."""
    text, pieces, edges, end = marks.text, list[str](), set[int](), 0
    places = ((at, mark) for pair in marks.pairs for at, mark in ((pair.begin, pair.opens), (pair.end, pair.closes)))
    for at, is_break in sorted({(at, "<br" in mark.lower()) for at, mark in places}):
        edges.add(at + len(pieces) // 2)
        if is_break and all(map(_runs_into, (text[at - 1 : at], text[at : at + 1]))):
            pieces += [text[end:at], " "]
            end = at
    return "".join([*pieces, text[end:]]), edges


def _without_labels(text: str, pairs: Iterable[Pair]) -> tuple[str, list[str]]:
    """Take the hashtags from the end of a text, with pictures among them, unless one is the sentence's last word.

    Those that are links or bold stay: the marks around them would come to be around words of the sentence.
    """
    begin, labels = len(text), 0
    for found in reversed(list(_HASHTAG.finditer(text))):
        if _PICTURES.sub("", text[found.end() : begin]).strip():
            break
        begin, labels = found.start(), labels + 1
    before = text[:begin].rstrip()
    is_over = labels > 1 or _PICTURES.sub("", before[-1:]) in _STOPS
    is_marked = any(pair.wide and pair.begin >= len(before) for pair in pairs)
    return (before, [text[begin:].rstrip()]) if labels and before and is_over and not is_marked else (text, [])


def _joined(before: str, after: str) -> str:
    """Two pieces of a text, of which one may be a stand-in, with a space between letters and it."""
    gap = " " if _runs_into(before[-1:]) and _runs_into(after[:1]) else ""
    return f"{before}{gap}{after}"


def _runs_into(character: str) -> bool:
    """Whether a stand-in beside it would be part of a word: é and １ are letters, too, and kanji and kana are not.

    What is not to be seen, such as the end of an isolated part, keeps nothing apart: models do not read it.
    """
    return bool(character) and (kind_of(character) == "letters" or unicodedata.category(character) in _UNSEEN)
