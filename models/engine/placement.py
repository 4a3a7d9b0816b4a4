"""Places the marks of a sentence in its translation: where the model would put quotation marks.

The source is read with quotation marks in place of a pair of marks, and the translation is scored with quotation marks
wherever they might be. The most likely place is where the words between the marks have gone. A part of what the same
translations score without quotation marks in the source is subtracted, as such marks are common in some places anyway.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, NamedTuple

import torch

from models.data.tokenizer import SPACE, UNK, Tokenizer, with_whole_vowels
from models.engine.batching import want_of_memory
from models.engine.candidates import Reading
from models.engine.spans import (
    Pieces,
    Room,
    Span,
    around_all,
    around_copy,
    around_term,
    gap_in_proportion,
    in_proportion,
    room_of,
)
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.text.full_width import as_half_width
from models.text.markup import Pair, Unmarked, with_places
from models.text.spacing import gap_of
from models.text.spelt import Spelt
from models.text.verbatim import Spelling

_MOST_SCORED: Final = 4
"""How many pairs of a sentence are placed by scores at most; any others are placed by proportion."""
_UNASKED: Final = 0.3
"""The part that is subtracted, chosen on the dev sets of the shipped models: docs/experiments/texts.md."""
_LONGEST: Final = 128
"""Most tokens of a sentence or its translation: longer ones are too expensive to read so many times."""
_MOST_PLACED: Final = 32
"""How many pairs of a sentence are placed at most; any others go to its end, around nothing."""
_BEST: Final = 6
"""How many places of the opening quotation mark are tried with every place of the closing one."""
_TRIED: Final = 4
"""How many of these spans are scored exactly."""
_SURE: Final = 4.0
"""How far, in nats, the first of these must be ahead of the second for exact scores to be unnecessary."""
_SOURCE_QUOTES: Final = ("“", "”")
_QUOTES: Final = {" ": ('"', '"'), "": ("「", "」")}
_QUOTE_PIECES: Final = {" ": (f'{SPACE}"', '"'), "": ("「", "」")}
"""The quotation marks of a translation, by what its language has between sentences."""
_WORD: Final = re.compile(r"\w")
_BEGIN: Final = re.compile(r"(?<!\w)(?=\w)")
_END: Final = re.compile(r"(?<=\w)(?!\w)")
_BETWEEN_SCRIPTS: Final = re.compile(
    r"(?<=[ぁ-ゖ])(?=[^ぁ-ゖ])|(?<=[^ぁ-ゖ])(?=[ぁ-ゖ])|(?<=[ァ-ヺー])(?=[^ァ-ヺー])|(?<=[^ァ-ヺー])(?=[ァ-ヺー])"
)
_IN_LATIN: Final = re.compile(r"(?<=[A-Za-z0-9])(?=[A-Za-z0-9])")
"""Inside a word in Latin letters, such as a stand-in, which may be several pieces in a Japanese translation."""
_GAP: Final = {
    " ": re.compile(r"\A|(?<=\s)(?=\S)|(?<=\w)(?![\w'’-])"),
    "": re.compile(r"\A|(?<=[ぁ-ん、。，．！？」』）])(?![ぁ-ん、。，．！？」』）])"),
}
"""Where something may stand between two words; in Japanese, which has no spaces, after particles and endings."""


class _Likely(NamedTuple):
    """A span, and roughly how likely it is to be in quotation marks: a log-probability, up to a constant for all."""

    value: float
    span: Span


@dataclass(frozen=True, slots=True)
class Placement:
    """Places marks in translations with a model that scores them; both languages are spelt as it reads them."""

    engine: TorchEngine | None
    """The model that scores; without one, marks are placed without scores, if need be by proportion."""
    tokenizer: Tokenizer
    spelling: Spelling
    target_spelling: Spelling
    language: str
    """Language of the translations: an ISO 639 code, perhaps with a script or region."""
    longest: int
    """Most tokens of a sentence or its translation that the model has positions for."""

    def place(self, request: TokenizedRequest, spelt: Spelt, translation: str, *, scored: bool = True) -> str:
        """Return the translation of a request, with places for the marks of its sentence, which is read as `spelt`.

        A pair of marks around all words of the sentence goes around the whole translation, and one around words that
        the model has copied goes around the copy. If the model cannot tell where a pair belongs, or is not asked
        (without `scored`), it goes where it is in the source, by proportion. No pair crosses another.
        """
        pairs = spelt.marks.pairs
        if not pairs:
            return translation
        pieces, spans = self._pieces(translation), dict[int, Span]()
        for number, pair in enumerate(pairs):
            if pair.wide:
                spans[number] = self._around(request, spelt, pieces, spans, pair, scored=scored)
        gaps, within = _alone(spelt.marks, pieces, spans)
        return with_places(translation, [(spans | gaps)[number] for number in range(len(pairs))], within)

    def _around(
        self,
        request: TokenizedRequest,
        spelt: Spelt,
        pieces: Pieces,
        spans: Mapping[int, Span],
        pair: Pair,
        *,
        scored: bool,
    ) -> Span:
        """Return the span of a pair around words, given those of other pairs."""
        text, end = spelt.marks.text, len(pieces.text)
        if len(spans) >= _MOST_PLACED:
            return end, end
        number, room = room_of(spelt.marks.pairs, spans, pair, end)
        outer = _part_of(spelt.marks, number)
        span = (
            around_all(text, pair, outer, room, pieces.ends)
            or around_copy(spelt, pair, room, pieces)
            or around_term(spelt, pair, room, pieces)
        )
        if span is None and scored and len(spans) < _MOST_SCORED:
            span = self._if_memory_does(request, self._quoting(request, spelt, pair), pieces, room)
        return span or in_proportion(pair, outer, room, pieces)

    def _pieces(self, text: str) -> Pieces:
        """Tell where spans may begin or end: at words or, without spaces, at pieces, split at changes of script."""
        vocabulary = self.tokenizer.target
        tokens: list[int] = []
        for token in self.tokenizer.encode_target(self.target_spelling.of(text).text):
            parts = [vocabulary.piece_to_id(part) for part in _BETWEEN_SCRIPTS.split(vocabulary.id_to_piece(token))]
            tokens += [token] if UNK in parts else parts
        pieces = [with_whole_vowels(vocabulary.id_to_piece(token)).replace(SPACE, " ") for token in tokens]
        starts = [at - 1 for at in accumulate(map(len, pieces), initial=0)]  # a space is before the first
        if "".join(pieces).removeprefix(" ") != as_half_width(text):
            starts, pieces, tokens = list(range(len(text) + 1)), list(text), []
        begins = {
            at + piece.startswith(" "): number for number, (at, piece) in enumerate(zip(starts, pieces, strict=False))
        }
        ends = {at: number for number, at in enumerate(starts) if at > 0}
        begins, ends = ({at: n for at, n in each.items() if not _IN_LATIN.match(text, at)} for each in (begins, ends))
        gap = gap_of(self.language)
        if gap:
            begins = {at: number for at, number in begins.items() if _BEGIN.match(text, at)}
            ends = {at: number for at, number in ends.items() if _END.match(text, at)}
        places = sorted({*begins, *ends})
        return Pieces(text, tokens, begins, ends, [at for at in places if _GAP[gap].match(text, at)] or places)

    def _quoting(self, request: TokenizedRequest, spelt: Spelt, pair: Pair) -> TokenizedRequest:
        """Return the request with quotation marks in place of a pair of marks, and otherwise read as before."""
        quoted = _quoted(spelt.marks.text, (pair.begin, pair.end), _SOURCE_QUOTES)
        source = self.tokenizer.encode_source(self.spelling.like(quoted, spelt).text)
        return replace(request, example=replace(request.example, source=source))

    def _if_memory_does(
        self, request: TokenizedRequest, asked: TokenizedRequest, pieces: Pieces, room: Room
    ) -> Span | None:
        """Return the most likely span, or None if memory runs out: a translation must not be lost for a mark."""
        with suppress(torch.OutOfMemoryError), want_of_memory():
            return self._most_likely(request, asked, pieces, room)
        return None

    def _most_likely(
        self, request: TokenizedRequest, asked: TokenizedRequest, pieces: Pieces, room: Room
    ) -> Span | None:
        """Return the span that the model would most likely put in quotation marks, given `asked`, if it can tell."""
        quotes = _QUOTES[gap_of(self.language)]
        long = max(len(asked.example.source), len(pieces.tokens) + 2) > min(self.longest, _LONGEST)
        if self.engine is None or not pieces.tokens or long or not self.engine.reads(asked):
            return None
        reading = self.engine.read(asked)
        likely = self._likely(reading, pieces, room)
        if len(likely) < 2 or likely[0].value - likely[1].value > _SURE:
            return likely[0].span if likely else None
        quoted = self.tokenizer.encode_targets(
            [self.target_spelling.of(_quoted(pieces.text, each.span, quotes)).text for each in likely]
        )
        found = reading.score(quoted), self.engine.read(request).score(quoted)
        values, unasked = ([sum(scores) for scores in each] for each in found)
        gains = [value - _UNASKED * other for value, other in zip(values, unasked, strict=True)]
        return likely[gains.index(max(gains))].span

    def _likely(self, reading: Reading, pieces: Pieces, room: Room) -> list["_Likely"]:
        """Return the most likely spans by a cheap estimate, as if the closing mark did not affect what follows it."""
        opens, closes = (self.tokenizer.target.piece_to_id(piece) for piece in _QUOTE_PIECES[gap_of(self.language)])
        tokens, places = pieces.tokens, pieces.begins
        ((own, opening),) = reading.score_beside([tokens], opens)
        begins = sorted(room.begins(places), key=lambda at: own[places[at]] - opening[places[at]])[:_BEST]
        spans = [span for span in room.spans(begins, room.ends(pieces.ends)) if _WORD.search(pieces.text, *span)]
        if UNK in (opens, closes) or not spans:
            return []
        rows = [[*tokens[: places[at]], opens, *tokens[places[at] :]] for at in begins]
        left = list(accumulate(reversed(own), initial=0.0))[::-1]
        opened = {
            begin: (list(accumulate(values, initial=0.0)), closing)
            for begin, (values, closing) in zip(begins, reading.score_beside(rows, closes), strict=True)
        }

        def likely(span: Span) -> _Likely:
            (before, closing), end = opened[span[0]], pieces.ends[span[1]]
            return _Likely(before[end + 1] + closing[end + 1] + left[end], span)

        return sorted(map(likely, spans), reverse=True)[:_TRIED]


def _alone(marks: Unmarked, pieces: Pieces, spans: Mapping[int, Span]) -> tuple[dict[int, Span], dict[int, int]]:
    """Return the places of pairs around nothing, and which pairs enclose them; within one, they keep their order."""
    gaps, within, least = dict[int, Span](), dict[int, int](), dict[int | None, int]()
    for number, pair in enumerate(marks.pairs):
        if pair.wide and spans[number][0] < spans[number][1]:
            continue
        before = {other: span for other, span in spans.items() if other < number or not pair.wide}
        outer, room = room_of(marks.pairs, before, pair, len(pieces.text))
        if not pair.wide:
            gaps[number] = gap_in_proportion(
                marks.text, pair, _part_of(marks, outer), room, pieces, least.get(outer, 0)
            )
            least[outer] = gaps[number][0]
        if outer is not None:
            within[number] = outer
    return gaps, within


def _part_of(marks: Unmarked, number: int | None) -> Span:
    """Return the span that a pair is around in the source; all of the source if there is no pair."""
    return (0, len(marks.text)) if number is None else (marks.pairs[number].begin, marks.pairs[number].end)


def _quoted(text: str, span: Span, quotes: tuple[str, str]) -> str:
    begin, end = span
    return text[:begin] + quotes[0] + text[begin:end] + quotes[1] + text[end:]
