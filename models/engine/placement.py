"""Where in a translation the marks of its sentence belong: where the model would put quotation marks.

The source is read with quotation marks in the place of a pair of marks, and the translation is scored with them
wherever they might be. The most likely place is where the words between the marks have gone. What the same translations
score without quotation marks in the source counts against them, in part: where such marks are common anyway.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, NamedTuple

import torch

from models.data.markup import Pair, Unmarked, with_places
from models.data.spacing import gap_of
from models.data.spelt import Spelt
from models.data.tokenizer import UNK, Tokenizer, with_whole_vowels
from models.data.verbatim import Spelling
from models.data.wide_signs import with_narrow_signs
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

_MOST_SCORED: Final = 4
"""Pairs of a sentence that are looked for in this way; those that follow are placed by proportion."""
_UNASKED: Final = 0.3
"""The part of that which counts, chosen on the dev sets of the shipped models: docs/experiments/japanese-english.md."""
_LONGEST: Final = 128
"""Tokens of a sentence, or its translation, that is not too long to be read so many times."""
_MOST_PLACED: Final = 32
"""Pairs of a sentence that have a place of their own; those that follow are at its end, around nothing."""
_BEST: Final = 6
"""How many places of the first quotation mark are tried with every place of the second."""
_TRIED: Final = 4
"""How many of these are scored whole."""
_SURE: Final = 4.0
"""How much more likely the first of these is than the second, in nats, when nothing is gained by scoring them whole."""
_SOURCE_QUOTES: Final = ("“", "”")
_QUOTES: Final = {" ": ('"', '"'), "": ("「", "」")}
_QUOTE_PIECES: Final = {" ": ('▁"', '"'), "": ("「", "」")}
"""Those of a translation, by what its language has between sentences."""
_WORD: Final = re.compile(r"\w")
_BEGIN: Final = re.compile(r"(?<!\w)(?=\w)")
_END: Final = re.compile(r"(?<=\w)(?!\w)")
_BETWEEN_SCRIPTS: Final = re.compile(
    r"(?<=[ぁ-ゖ])(?=[^ぁ-ゖ])|(?<=[^ぁ-ゖ])(?=[ぁ-ゖ])|(?<=[ァ-ヺー])(?=[^ァ-ヺー])|(?<=[^ァ-ヺー])(?=[ァ-ヺー])"
)
_IN_LATIN: Final = re.compile(r"(?<=[A-Za-z0-9])(?=[A-Za-z0-9])")
"""Within a word in Latin letters, which in Japanese may be several pieces, and what something else is written for."""
_GAP: Final = {
    " ": re.compile(r"\A|(?<=\s)(?=\S)|(?<=\w)(?![\w'’-])"),
    "": re.compile(r"\A|(?<=[ぁ-ん、。，．！？」』）])(?![ぁ-ん、。，．！？」』）])"),
}
"""Where a word ends, for what stands between two; in Japanese behind particles and endings, for it has no spaces."""


class _Likely(NamedTuple):
    """A span, and about how likely it is to be in quotation marks: a log-probability, but for what all have."""

    value: float
    span: Span


@dataclass(frozen=True, slots=True)
class Placement:
    """Places marks in translations, by a model that scores them; both languages are spelt as it reads them."""

    engine: TorchEngine | None
    """Where there is none, all is placed by proportion."""
    tokenizer: Tokenizer
    spelling: Spelling
    target_spelling: Spelling
    language: str
    """ISO 639 code of the translations, perhaps with a script or region."""
    longest: int
    """Tokens of a sentence, or of its translation, that the model has positions for."""

    def place(self, request: TokenizedRequest, spelt: Spelt, translation: str, *, scored: bool = True) -> str:
        """The translation of a request, with places for the marks of the sentence that is `spelt` so.

        A pair of marks around all words of its sentence is around the translation, and one around what the model has
        copied around the copy; where it cannot say where another one belongs, or is not asked (`scored`), that is where
        it is in the source, by proportion. None crosses another.
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
        """The span of a pair around words, beside those of others."""
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
        """Words begin and end a span; where there are no spaces, pieces, divided where the script changes."""
        vocabulary = self.tokenizer.target
        tokens: list[int] = []
        for token in self.tokenizer.encode_target(self.target_spelling.of(text).text):
            parts = [vocabulary.piece_to_id(part) for part in _BETWEEN_SCRIPTS.split(vocabulary.id_to_piece(token))]
            tokens += [token] if UNK in parts else parts
        pieces = [with_whole_vowels(vocabulary.id_to_piece(token)).replace("▁", " ") for token in tokens]
        starts = [at - 1 for at in accumulate(map(len, pieces), initial=0)]  # a space is before the first
        if "".join(pieces).removeprefix(" ") != with_narrow_signs(text):
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
        """The request with quotation marks in the place of a pair of marks, and read like the sentence otherwise."""
        quoted = _quoted(spelt.marks.text, (pair.begin, pair.end), _SOURCE_QUOTES)
        source = self.tokenizer.encode_source(self.spelling.like(quoted, spelt).text)
        return replace(request, example=replace(request.example, source=source))

    def _if_memory_does(
        self, request: TokenizedRequest, asked: TokenizedRequest, pieces: Pieces, room: Room
    ) -> Span | None:
        """The most likely span, or none where there is too little memory: no translation is lost for a mark."""
        with suppress(torch.OutOfMemoryError), want_of_memory():
            return self._most_likely(request, asked, pieces, room)
        return None

    def _most_likely(
        self, request: TokenizedRequest, asked: TokenizedRequest, pieces: Pieces, room: Room
    ) -> Span | None:
        """The span that the model would most likely put in quotation marks when it is asked so, if it can say."""
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
        """The most likely spans, by what is likely after each word: as if what closes changed nothing that follows."""
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
    """The places of what is around nothing, and the pairs that some of it is in; within one it keeps its order."""
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
    """What a pair is around in the source; all of it, where there is no pair."""
    return (0, len(marks.text)) if number is None else (marks.pairs[number].begin, marks.pairs[number].end)


def _quoted(text: str, span: Span, quotes: tuple[str, str]) -> str:
    begin, end = span
    return text[:begin] + quotes[0] + text[begin:end] + quotes[1] + text[end:]
