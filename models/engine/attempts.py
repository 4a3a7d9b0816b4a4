"""Retries the translation of a part of a request until it contains everything that it has to."""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from models.engine.preparation import Preparation, Prepared
from models.engine.requests import Options
from models.engine.strategies import TokenizedRequest
from models.engine.wordings import Wordings
from models.search.hypotheses import Hypothesis
from models.text.glossary import Term
from models.text.repetitions import Repetitions
from models.text.spelt import Spelt

_MOST: Final = 3
"""Most tries with stand-ins: where one is lost, the next comes back half the time, a third in a quarter of the rest."""

_AROUND: Final = re.compile(r"""^["'“「『]+|\s*[(（].*$|[.。"'”」』]+$""")
"""What surrounds a term when it is translated alone, but not within a sentence."""

_MOST_ASKED: Final = 8
"""How many terms of a part the model is asked for at most; for any others, its own wording is not looked for."""

_LOOKED_AT: Final = 64
"""Tokens at the end of an unfinished translation in which repetitions are looked for."""

Best = tuple[TokenizedRequest, Spelt, list[Hypothesis]]
"""What was translated, how it was read, and the hypotheses that were found, best first."""
_T = TypeVar("_T")
Asking = Generator[TokenizedRequest, list[Hypothesis], _T]
"""A generator that yields requests and is sent their hypotheses, until it can return its result."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What attempts need to read parts in other ways, and to have terms translated alone."""

    preparation: Preparation
    wordings: Wordings
    options: Options
    repetitions: Repetitions | None
    """Finds what is said again and again; None if the search can drop no hypothesis."""

    def said(self, hypotheses: Sequence[Hypothesis]) -> str:
        """Return the text of the best hypothesis."""
        return self.preparation.said(hypotheses[0])

    def repeats(self, tokens: Sequence[int]) -> bool:
        """Return whether a translation says something again and again; False if nothing could be done about it."""
        if self.repetitions is None:
            return False
        return self.repetitions.in_translation(self.preparation.tokenizer.decode_target(tokens))

    def has_just_repeated(self, tokens: Sequence[int]) -> bool:
        """Return the same for the last tokens of an unfinished translation."""
        return self.repeats(tokens[-_LOOKED_AT:])

    def is_repeated(self, spelt: Spelt) -> bool:
        """Return whether it is the source that says something again and again."""
        return self.repetitions is not None and self.repetitions.in_source(spelt.text)

    def wording_of(self, term: Term) -> Asking[str]:
        """Return the model's own wording for a term, perhaps empty, without what surrounds it when it stands alone."""
        known = self.wordings.known(self.options, term.source)
        if known is not None:
            return known
        alone = self.preparation.alone(term)
        if alone is None:
            return ""
        wording = _AROUND.sub("", self.said((yield alone)))
        self.wordings.learn(self.options, term.source, wording)
        return wording


class Attempts:
    """The attempts to translate one part; the best one, or the first of several equally good ones, is its translation.

    The part is first read as it is. If the translation lacks terms, the model is asked for its own wording of each,
    which is then looked for in the translation. Terms that are still missing are read as stand-ins, which are words
    that the model copies. If the best translation then says something again and again, hypotheses that do so are
    dropped in one more search.
    """

    def __init__(self, request: TokenizedRequest, spelt: Spelt, telling: Telling) -> None:
        self._request, self._spelt = request, spelt
        self._telling = telling
        self._lost = 0
        self._missing: dict[Term, None] = {}
        self._best: Best = (request, spelt, [])
        self._asking = self._ask()
        self._now = next(self._asking)

    @classmethod
    def of(cls, prepared: Prepared, telling: Telling) -> list["Attempts"]:
        """Return the attempts for each part of a request."""
        return [cls(*part, telling) for part in zip(prepared.parts, prepared.spelt, strict=True)]

    @property
    def request(self) -> TokenizedRequest:
        """What is to be translated next."""
        return self._now

    @property
    def best(self) -> Best:
        """The best translation so far."""
        return self._best

    def take(self, hypotheses: Sequence[Hypothesis]) -> bool:
        """Take the hypotheses for the current request; return whether there is another one to try."""
        try:
            self._now = self._asking.send(list(hypotheses))
        except StopIteration:
            return False
        return True

    def _ask(self) -> Asking[None]:
        yield from self._ask_for_all_terms()
        yield from self._ask_without_repetitions()

    def _ask_for_all_terms(self) -> Asking[None]:
        found = yield self._request
        self._judge(self._request, self._spelt, found)
        if self._missing:
            yield from self._ask_for_wordings()
            self._missing.clear()
            self._judge(self._request, self._spelt, found)
        retold = self._telling.preparation.retold
        for turn in range(1, _MOST + bool(self._missing)):
            told = retold(self._request, self._spelt, turn, self._missing) if self._lost else None
            if told is None:
                return
            request, spelt = told
            self._judge(request, spelt, (yield request))

    def _ask_for_wordings(self) -> Asking[None]:
        """Ask for the model's own wording of the terms that are missing."""
        for term in islice(self._missing, _MOST_ASKED):
            if wording := (yield from self._telling.wording_of(term)):
                self._spelt = replace(self._spelt, worded=(*self._spelt.worded, (wording, term)))

    def _ask_without_repetitions(self) -> Asking[None]:
        """Search again without repetitions, if the best translation has some and its source has none."""
        (request, spelt, found), telling = self._best, self._telling
        if not telling.repeats(found[0].tokens) or telling.is_repeated(spelt):
            return
        other = yield replace(request, unwanted=telling.has_just_repeated)
        lost = spelt.lost(telling.said(other)) if spelt.asks else 0
        if lost <= self._lost and not telling.repeats(other[0].tokens):
            self._lost, self._best = lost, (request, spelt, self._as_whole(spelt, other, lost))

    def _judge(self, request: TokenizedRequest, spelt: Spelt, found: list[Hypothesis]) -> None:
        """Keep an attempt if it is better than the best so far, and note the terms that it lacks."""
        said = self._telling.said(found) if spelt.asks else ""
        lost = spelt.lost(said)
        if not self._best[2] or lost < self._lost:
            self._lost, self._best = lost, (request, spelt, self._as_whole(spelt, found, lost))
        self._missing |= dict.fromkeys(spelt.missing(said))

    def _as_whole(self, spelt: Spelt, found: list[Hypothesis], lost: int) -> list[Hypothesis]:
        """Return the best hypothesis, which has lost `lost`, and those of the others that have lost no more."""
        if not spelt.asks or len(found) == 1:
            return found
        return [each for each in found if spelt.lost(self._telling.said([each])) <= lost]
