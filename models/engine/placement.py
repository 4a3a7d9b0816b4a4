"""Where in a translation the marks of its sentence belong: where the model would put quotation marks.

The source is read with quotation marks in the place of a pair of marks, and the translation is scored with them
wherever they might be. The most likely place is where the words between the marks have gone. What the same translations
score without quotation marks in the source counts against them, in part: where such marks are common anyway.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from models.data.markup import Pair, with_places
from models.data.spacing import gap_of
from models.data.tokenizer import Tokenizer
from models.data.verbatim import Spelling, Spelt
from models.data.words import has_words
from models.engine.strategies import Engine, TokenizedRequest

MOST_SCORED: Final = 8
"""Pairs of a sentence that are looked for in this way; those that follow are placed by proportion."""
_UNASKED: Final = 0.3
"""The part of that which counts, chosen on the dev sets of the shipped models: docs/experiments/japanese-english.md."""
_BEST: Final = 6
"""How many of the places of one quotation mark alone are tried with as many of the other."""
_SOURCE_QUOTES: Final = ("“", "”")
_QUOTES: Final = {" ": ('"', '"'), "": ("「", "」")}
"""Those of a translation, by what its language has between sentences."""
_WORD: Final = re.compile(r"\w")
_BEGIN: Final = re.compile(r"(?<!\w)(?=\w)")
_END: Final = re.compile(r"(?<=\w)(?!\w)")
_BETWEEN_SCRIPTS: Final = re.compile(
    r"(?<=[ぁ-ゖ])(?=[^ぁ-ゖ])|(?<=[^ぁ-ゖ])(?=[ぁ-ゖ])|(?<=[ァ-ヺー])(?=[^ァ-ヺー])|(?<=[^ァ-ヺー])(?=[ァ-ヺー])"
)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Room:
    """Where in a translation a span may be: within another one, and beside those that are there."""

    begin: int
    end: int
    taken: Sequence[Span]

    def begins(self, places: Iterable[int]) -> list[int]:
        """Of places, those where a span may begin."""
        return [at for at in places if self.begin <= at < self.end and not any(a <= at < b for a, b in self.taken)]

    def ends(self, places: Iterable[int]) -> list[int]:
        """Of places, those where a span may end."""
        return [at for at in places if self.begin < at <= self.end and not any(a < at <= b for a, b in self.taken)]

    def spans(self, begins: Sequence[int], ends: Sequence[int]) -> list[Span]:
        """From each beginning to each end behind it, with nothing taken between."""
        return [
            (begin, end)
            for begin in begins
            for end in ends
            if begin < end and not any(begin < b and a < end for a, b in self.taken)
        ]


@dataclass(frozen=True, slots=True)
class Placement:
    """Places marks in translations, which `engine` scores; sources and translations are spelt as it reads them."""

    engine: Engine
    tokenizer: Tokenizer
    spelling: Spelling
    target_spelling: Spelling
    language: str
    """ISO 639 code of the translations, perhaps with a script or region."""
    longest: int
    """Tokens of a sentence, or of its translation, that the model has positions for."""

    def place(self, request: TokenizedRequest, spelt: Spelt, translation: str) -> str:
        """The translation of a request, with places for the marks of the sentence that is `spelt` so.

        A pair of marks around all words of its sentence is around the translation; where the model cannot say where
        another one belongs, it is where it is in the source, by proportion. None crosses another.
        """
        pairs, text, spans = spelt.marks.pairs, spelt.marks.text, list[Span]()
        if not pairs:
            return translation
        begins, ends = self._edges(translation)
        for number, pair in enumerate(pairs):
            outer, room = _room(pairs[:number], spans, pair, (len(text), len(translation)))
            span = _around_all(text, pair, outer, room, ends)
            if span is None and number < MOST_SCORED and pair.begin < pair.end:
                asked = self._quoting(request, text, pair)
                span = self._most_likely(request, asked, translation, room, room.begins(begins), room.ends(ends))
            spans.append(span or _in_proportion(pair, outer, room, room.begins(begins), room.ends(ends)))
        return with_places(translation, spans)

    def _edges(self, translation: str) -> tuple[list[int], list[int]]:
        """Where words begin, and where they end; where there are no spaces, pieces, and what is in another script."""
        if gap_of(self.language):
            found = ([match.start() for match in edge.finditer(translation)] for edge in (_BEGIN, _END))
            return next(found), next(found)
        pieces = self.tokenizer.target.encode(translation, out_type=str)
        cuts = {0, *accumulate(len(piece) for piece in pieces if piece != "▁")}
        cuts |= {found.start() for found in _BETWEEN_SCRIPTS.finditer(translation)}
        edges = sorted(cut for cut in cuts if cut <= len(translation))
        return edges, edges

    def _most_likely(
        self,
        request: TokenizedRequest,
        asked: TokenizedRequest,
        translation: str,
        room: _Room,
        begins: Sequence[int],
        ends: Sequence[int],
    ) -> Span | None:
        """The span that the model would most likely put in quotation marks when it is asked so, if it can say."""
        quotes = _QUOTES[gap_of(self.language)]
        alone = [
            *(translation[:at] + quotes[0] + translation[at:] for at in begins),
            *(translation[:at] + quotes[1] + translation[at:] for at in ends),
        ]
        scores = self._scores(asked, alone)
        if scores is None:
            return None
        spans = room.spans(_best(begins, scores[: len(begins)]), _best(ends, scores[len(begins) :]))
        spans = [(begin, end) for begin, end in spans if _WORD.search(translation, begin, end)]
        quoted = [_quoted(translation, span, quotes) for span in spans]
        values, unasked = self._scores(asked, quoted), self._scores(request, quoted)
        if values is None or unasked is None:
            return None
        gains = (value - _UNASKED * other for value, other in zip(values, unasked, strict=True))
        return max(zip(gains, spans, strict=True))[1]

    def _quoting(self, request: TokenizedRequest, text: str, pair: Pair) -> TokenizedRequest:
        """The request with quotation marks in the place of a pair of marks."""
        quoted = _quoted(text, (pair.begin, pair.end), _SOURCE_QUOTES)
        source = self.tokenizer.encode_source(self.spelling.of(quoted).text)
        return replace(request, example=replace(request.example, source=source))

    def _scores(self, request: TokenizedRequest, candidates: Sequence[str]) -> list[float] | None:
        """Log-probabilities of translations; None if there are none, or one is too long to be read."""
        targets = self.tokenizer.encode_targets([self.target_spelling.of(each).text for each in candidates])
        if not targets or max(map(len, [request.example.source, *targets])) > self.longest:
            return None
        return [sum(values) for values in self.engine.score_candidates([request], [targets])[0]]


def _room(pairs: Sequence[Pair], spans: Sequence[Span], pair: Pair, sizes: tuple[int, int]) -> tuple[Span, _Room]:
    """The innermost part of the source that a pair is in, and where in the translation it may be."""
    outer, inner = (0, sizes[0]), (0, sizes[1])
    beside: list[Span] = []
    for other, span in zip(pairs, spans, strict=True):
        if other.begin <= pair.begin and pair.end <= other.end and other.begin < other.end:
            outer, inner = (other.begin, other.end), span
        elif span[0] < span[1]:
            beside.append(span)
    return outer, _Room(*inner, beside)


def _around_all(text: str, pair: Pair, outer: Span, room: _Room, ends: Sequence[int]) -> Span | None:
    """All of the room, for a pair without a word beside it; a full stop stays outside if it is outside."""
    if room.taken or has_words(text[outer[0] : pair.begin] + text[pair.end : outer[1]]) or pair.begin == pair.end:
        return None
    inside = room.end if pair.end == outer[1] else max(room.ends(ends), default=room.end)
    return room.begin, inside


def _in_proportion(pair: Pair, outer: Span, room: _Room, begins: Sequence[int], ends: Sequence[int]) -> Span:
    """A span as far from the beginning, and as long, as in the source, as near as there is room."""
    share = (room.end - room.begin) / max(1, outer[1] - outer[0])
    wanted = [room.begin + (at - outer[0]) * share for at in (pair.begin, pair.end)]
    if pair.begin < pair.end and (spans := room.spans(_near(wanted[0], begins), _near(wanted[1], ends))):
        return min(spans, key=lambda span: abs(span[0] - wanted[0]) + abs(span[1] - wanted[1]))
    (at,) = _near(wanted[0], [*begins, *ends, room.end])[:1]
    return at, at


def _near(wanted: float, places: Sequence[int]) -> list[int]:
    return sorted(places, key=lambda at: abs(at - wanted))[:_BEST]


def _best(places: Sequence[int], scores: Sequence[float]) -> list[int]:
    ranked = sorted(zip(scores, places, strict=True), reverse=True)
    return [place for _, place in ranked[:_BEST]]


def _quoted(text: str, span: Span, quotes: tuple[str, str]) -> str:
    begin, end = span
    return text[:begin] + quotes[0] + text[begin:end] + quotes[1] + text[end:]
