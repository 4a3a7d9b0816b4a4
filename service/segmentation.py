"""Text into sentences and back: white space, list marks and lines without words are kept, character by character.

A line's end is a boundary: a line break within a sentence would have no place in its translation. What a caller has
split keeps its boundaries; but if it is several sentences, each of them is translated.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, starmap, takewhile

from models.data.clauses import pack, split_within
from models.data.markup import unmarked
from models.data.spacing import primary
from models.data.words import PICTURES, has_words
from service.boundaries import Boundaries, split_as_read
from service.format_lines import format_lines
from service.line_cells import cells_of, rows_of_tables

_MARKS = re.compile(
    r"""
    [\s\ufeff\u200b]*                              # indentation
    (?: \{\\ [^{}]{1,80}+ \} \s* )*                # {\an8} of subtitles
    (?: (?:>[ \t]*)* > (?=\s|$) \s* )?             # > quoted
    (?: \[! [A-Za-z-]{2,20}+ \] [+-]? (?=\s|$) \s* )?   # [!note]- a box of Obsidian
    (?: \#{1,6} (?=\s|$) \s* )?                    # ## a heading
    (?: (?: \[\^ [^\[\]\s]{1,40}+ | \*\[ [^\[\]\n]{1,40}+ ) \]: \s* )?     # [^1]: a note  *[HTML]: what it is short for
    (?:
        (?: [-*+–·:●○■□◆◇▶►★☆※→⇒✓✔☐☑] (?=\s|$)      # without the space it may be part of a word or a number
          | [•‣◦▪▫]
          | [■□◆◇▶►※◎] (?![■□◆◇▶►※◎])            # ■概要, but not ■■ for what is left out
          | [●○] (?! [ぁ-ん] | .*[●○〇×])             # ●概要, but not ○月○日, ○か×か
          | [・･] (?![・･.。｡…])                    # ・・・ is an ellipsis
        ) \s*
        (?: \[[ xX]\] (?=\s|$) \s* )?              # - [x] a task
    )?
    (?:
        (?: (?P<number>[0-9]{1,3}) [.)] (?=\s|$|[^\x00-\x7f])                # 1.  2)
          | (?P<parts>[0-9]{1,4} (?:[./-][0-9]{1,4}){2,8}+) \.?                   # 2.1.1   2.1 may be an amount
            (?P<time> [T ] [0-9]{1,2}:[0-9]{2} (?: :[0-9]{2} (?:[.,][0-9]{1,6}+)? )?+ Z? )?+ (?=\s)  # 2024/05/03 10:11
          | (?:[0-9０-９]{1,3}|[ア-ン]|[一二三四五六七八九十]{1,3}) (?=\u3000)           # ２　前項の  一　寺の  of laws
          | \[ [0-9][0-9:./,TZ +-]{0,40}+ \] (?=\s)                             # [1]  [00:12:34]
          | \( (?:[0-9]{1,3}|[A-Za-z]|[ivxIVX]{2,5}|[ア-ンⅰ-ⅻ]) \) (?=\s|$|[^\x00-\x7f])   # (1)  (a)  (iv)  (ア)
          | [A-Za-z] \) (?=\s|$) | [A-Za-zＡ-Ｚａ-ｚ]）                              # a)  Ａ）
          | (?:[IVX]{2,5}|[ivx]{2,5}) [.)] (?=\s|$|[^\x00-\x7f])                # II.  iv)   I. may be an initial
          | （(?:[0-9０-９]{1,3}|[A-Za-zＡ-Ｚａ-ｚ]|[ア-ンⅰ-ⅻ]|[一二三四五六七八九十]{1,3})）  # （１）  （ア）  （一）
          | [0-9０-９]{1,3} [．）] (?![0-9０-９])                                   # １．
          | (?:[ア-ンⅠ-Ⅻⅰ-ⅻ]|[一二三四五六七八九十]{1,3}) (?:[．）]|[.)](?=\s|$|[^\x00-\x7f]))   # ア．  一．  イ）
          | [①-⒛⓪⓿❶-➓㈠-㈩㉑-㉟㊀-㊉㊱-㊿] | (?:[0-9]\ufe0f?+\u20e3)++                  # 1️⃣
        ) \s*
    )?
    """,
    re.VERBOSE,
)
"""What may stand at the beginning of a line, before its first sentence; anything else there is part of the sentence."""
_BOX = re.compile(
    r"""
    [ \t>]*+
    (?: ===[!+]?+ [ ]++ "                                                             # === "Title" of a tab
      | (?:!!!|\?\?\?\+?) [ ]++
        (?: [a-z][a-z0-9_-]*+ (?:[ ]++inline(?:[ ]end)?+)?+ [ ]++"                                # !!! note "Title"
          | (?:abstract|bug|danger|example|failure|info|note|question|quote|success|tip|warning) \s*+ \Z )
      | (?: `{3,}+ \{[a-z]++\} | :{3,}+ [ \t]*+ (?: \{[^{}\n]*+\} | [a-z][a-z0-9_-]*+ ) )                # :::note Title
        (?: \[ | [ \t]++ | \s*+ \Z ) )
    """,
    re.VERBOSE,
)
"""How lines begin that begin a box, or a tab, of MkDocs, Docusaurus, VitePress, MyST or Pandoc; a title may follow."""
_ATTRIBUTES = re.compile(r"\{:?\s*[#.][A-Za-z][^{}\n]{0,200}\}")
"""{#kyoto .large} behind a heading, by which links find it: of Pandoc, Docusaurus and Hugo, with a colon of Jekyll."""
_TAG = re.compile(r"<[^<>]*+>")
_EMPHASIS = ("*", "_", "~~", "==")
_COVER = re.compile(rf"{_TAG.pattern}|[*_]")
"""What may be around such a mark: tags, or signs that it is bold."""
_LONGEST_COVERED = 300
"""Characters of a line within which one is looked for."""
_WITH_ORDINALS = frozenset(
    ("bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr")
)
_MONTH = re.compile(r"(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
_ASIDE = re.compile(rf"[\s\u200b-\u200f\u202a-\u202e\u2066-\u2069\u2190-\u21ff\u25c6\u25c7{PICTURES}\ufe0e\ufe0f]")
"""White space, emoji, pictures, arrows, ◆◇◆ and marks of direction: around a sentence they stay as they are.

A model knows none of them, and drops them, or makes something up. Not so signs of arithmetic, which belong to a number.
"""
_SPACES = " \u00a0\u2002\u2003\u2009\u202f\u3000"
"""What a language may have between two sentences, wide or not; a line break or a tab is the document's."""


@dataclass(frozen=True, slots=True)
class Segmented:
    """Sentences without the white space and emoji around them, and what stands before, between and after them.

    `separators` has one element more than `sentences`.
    """

    sentences: tuple[str, ...]
    separators: tuple[str, ...]

    def separators_with(self, gap: str) -> list[str]:
        """What stands around sentences of another language, which has `gap` between them in place of its own spaces."""
        first, *others = self.separators
        if not others:
            return [first]
        *between, last = others
        return [first, *starmap(partial(_between, gap), zip(between, pairwise(self.sentences), strict=True)), last]

    def join(self, sentences: Sequence[str], *, gap: str | None = None) -> str:
        """The text with other sentences: of the same language, or of one that has `gap` between them."""
        first, *following = self.separators if gap is None else self.separators_with(gap)
        return first + "".join(a + b for a, b in zip(sentences, following, strict=True))


def _between(gap: str, separator: str, beside: tuple[str, str]) -> str:
    """What comes between two sentences: `gap` for nothing but the other language's space; all else stays as it is.

    So does a space beside bold words: without it Markdown would take the marks around them for none.
    """
    if separator.strip(_SPACES) or (gap and separator and not separator.strip(gap)):
        return separator
    return gap if gap or not _is_marked(*beside) else separator


def _is_marked(before: str, behind: str) -> bool:
    return before.endswith(_EMPHASIS) or behind.startswith(_EMPHASIS)


def split(text: str, language: str, *, longest: int, most: int) -> Segmented:
    """Split text, so that joining the same sentences gives the same text.

    What has more than `longest` characters is divided at its clauses, else between words, else anywhere. What comes
    after `most` sentences stays in the last separator: it is for the caller to refuse them. Takes a time that is linear
    in the length of the text.
    """
    sentences: list[str] = []
    separators: list[str] = []
    kept: list[str] = []
    seen = 0
    for piece, is_sentence in _pieces(text, language, longest):
        if len(sentences) == most:
            break
        seen += len(piece)
        if not is_sentence or not has_words(piece):
            kept.append(piece)
            continue
        start, end = _core(piece)
        separators.append("".join([*kept, piece[:start]]))
        sentences.append(piece[start:end])
        kept = [piece[end:]]
    separators.append("".join([*kept, text[seen:]]))
    return Segmented(tuple(sentences), tuple(separators))


def _core(piece: str) -> tuple[int, int]:
    """From where to where a piece with words is to be translated."""
    before, after = (sum(1 for _ in takewhile(_ASIDE.match, text)) for text in (piece, reversed(piece)))
    return before, len(piece) - after


def parts(text: str, language: str) -> tuple[str, ...]:
    """The sentences that a caller's one consists of, if it is several: a model of single sentences would drop some.

    Joined they are the text; what has no words is part of the sentence before it.
    """
    boundaries = Boundaries(language)
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        for piece in boundaries.split(line, len(text)):
            if found and not (has_words(piece) and has_words(found[-1])):
                found[-1] += piece
            else:
                found.append(piece)
    return tuple(found) if len(found) > 1 else ()


def _pieces(text: str, language: str, longest: int) -> Iterator[tuple[str, bool]]:
    """Pieces that make up the text, and whether each is a sentence, perhaps with white space around it."""
    boundaries = Boundaries(language)
    ordinals = primary(language) in _WITH_ORDINALS
    lines = text.splitlines(keepends=True)
    for line, is_of_the_format, is_row in zip(lines, format_lines(lines), rows_of_tables(lines), strict=True):
        if is_of_the_format or not has_words(line):
            yield line, False
            continue
        start, end = _title_of_box(line) or (after_marks(line, ordinals=ordinals), _before_attributes(line))
        end = max(start, end)
        yield line[:start], False
        for number, part in enumerate(cells_of(line[start:end], is_row=is_row)):
            if number % 2:
                yield part, False
            else:
                yield from (
                    (piece, True) for long in boundaries.split(part, longest) for piece in _divided(long, longest)
                )
        yield line[end:], False


def _divided(sentence: str, longest: int) -> list[str]:
    """A sentence that is too long at its clauses, or words: the text is ours to divide, and no reason to refuse it."""
    if len(sentence.strip()) <= longest:
        return [sentence]
    return pack(split_within(sentence, len, longest), len, longest)


def _title_of_box(line: str) -> tuple[int, int] | None:
    """From where to where a line is a title, if it is one that begins a box."""
    found = _BOX.match(line)
    if found is None:
        return None
    title = line[found.end() :].rstrip()
    closing = {'"': '"', "[": "]"}.get(line[found.end() - 1])
    return found.end(), found.end() + len(title.removesuffix(closing) if closing else title)


def after_marks(line: str, *, ordinals: bool = False) -> int:
    """Where the text of a line begins, behind marks that may be bold or in tags, as pages have them."""
    end = _end_of_marks(line, ordinals=ordinals)
    return end + _covered(line[end:], ordinals=ordinals)


def _before_attributes(line: str) -> int:
    """Where the text of a line ends, before what Markdown has for the name of a heading, or for a line break."""
    text = line.rstrip()
    if text.endswith("\\"):
        return len(text.rstrip("\\").rstrip())
    begin = text.rfind("{") if text.endswith("}") else -1
    return len(text[:begin].rstrip()) if begin >= 0 and _ATTRIBUTES.fullmatch(text, begin) else len(line)


def _covered(text: str, *, ordinals: bool) -> int:
    """Where marks end that tags, and other marks around words, are around, or that are entities (`&bull;`)."""

    def divided(read: str) -> list[str]:
        end = _end_of_marks(read, ordinals=ordinals)
        return [read[:end], read[end:]] if read[:end].strip() else [read]

    if not text.startswith(("<", "*", "_", "&")) or len(divided(_bare(text[:_LONGEST_COVERED]))) == 1:
        return 0
    marks, *others = split_as_read(text, divided)
    return len(marks) if others and _stands_apart(marks, others[0]) else 0


def _bare(text: str) -> str:
    return html.unescape(_COVER.sub("", text))


def _stands_apart(marks: str, text: str) -> bool:
    """Whether nothing is around marks and only a part of the text behind them, where it would lack its other half."""
    before, after = unmarked(marks).before, unmarked(text).after
    opened, closed = before.count("<") - before.count("/>"), after.count("</")
    return opened == closed and _TAG.sub("", before).strip() == _TAG.sub("", after).strip()


def _end_of_marks(line: str, *, ordinals: bool) -> int:
    """Where the text of a line begins.

    Where there are ordinals, `3. Oktober` is a date and no item of a list; and `192.168.0.1 is` begins a sentence.
    """
    found = _MARKS.match(line)
    if found is None:
        return 0
    text = line[found.end() :]
    if ordinals and found["number"] and (text[:1].islower() or _MONTH.match(text)):
        return found.start("number")
    if found["parts"] and not found["time"] and text[:1].islower():
        return found.start("parts")
    return found.end()
