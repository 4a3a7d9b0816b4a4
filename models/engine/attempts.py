"""Tries to translate a part of a request, until all that has to be in its translation is."""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from models.data.glossary import Term
from models.data.spelt import Spelt
from models.engine.preparation import Preparation, Prepared
from models.engine.requests import Options
from models.engine.strategies import TokenizedRequest
from models.engine.wordings import Wordings
from models.search.hypotheses import Hypothesis

_MOST: Final = 3
"""Tries with stand-ins: where one does not come back, another does half the time, a third in a quarter of the rest."""

_AROUND: Final = re.compile(r"""^["'“「『]+|\s*[(（].*$|[.。"'”」』]+$""")
"""What a term has around it in a translation of it alone, and not in a sentence."""

_MOST_ASKED: Final = 8
"""Terms of a part; of those that follow there is nothing to look for."""

Best = tuple[TokenizedRequest, Spelt, list[Hypothesis]]
"""What was translated, how it was read, and what was found, best first."""
_T = TypeVar("_T")
Asking = Generator[TokenizedRequest, list[Hypothesis], _T]
"""Asks for translations, one after another, until it has what it is for."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Has parts read in other ways, and terms alone."""

    preparation: Preparation
    wordings: Wordings
    options: Options

    def said(self, hypotheses: Sequence[Hypothesis]) -> str:
        """What the best hypothesis says."""
        return self.preparation.said(hypotheses[0])

    def wording_of(self, term: Term) -> Asking[str]:
        """What the model says for a term, without what is around it in a sentence of its own; perhaps nothing."""
        known = self.wordings.known(self.options, term.source)
        if known is not None:
            return known
        alone = self.preparation.alone(term)
        wording = "" if alone is None else _AROUND.sub("", self.said((yield alone)))
        self.wordings.learn(self.options, term.source, wording)
        return wording


class Attempts:
    """Those for one part; the best so far, and of two as good the first, is its translation.

    A part is read as it is. Where it does not say its terms, the model is asked what it says for them, which is looked
    for in the translation. What is still missing is read as another word, which the model copies.
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
        """For each part of a request."""
        return [cls(*part, telling) for part in zip(prepared.parts, prepared.spelt, strict=True)]

    @property
    def request(self) -> TokenizedRequest:
        """What is to be translated now."""
        return self._now

    @property
    def best(self) -> Best:
        """The translation."""
        return self._best

    def take(self, hypotheses: Sequence[Hypothesis]) -> bool:
        """Take what was found for the request; gives whether there is another one to try."""
        try:
            self._now = self._asking.send(list(hypotheses))
        except StopIteration:
            return False
        return True

    def _ask(self) -> Asking[None]:
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
        """Ask what the model says for terms that are missing."""
        for term in islice(self._missing, _MOST_ASKED):
            if wording := (yield from self._telling.wording_of(term)):
                self._spelt = replace(self._spelt, worded=(*self._spelt.worded, (wording, term)))

    def _judge(self, request: TokenizedRequest, spelt: Spelt, found: list[Hypothesis]) -> None:
        """Keep it if it is better than the best."""
        said = self._telling.said(found) if spelt.asks else ""
        lost = spelt.lost(said)
        if not self._best[2] or lost < self._lost:
            self._lost, self._best = lost, (request, spelt, self._as_whole(spelt, found, lost))
        self._missing |= dict.fromkeys(spelt.missing(said))

    def _as_whole(self, spelt: Spelt, found: list[Hypothesis], lost: int) -> list[Hypothesis]:
        """The best, in which so much is lost, and those of the others in which no more is."""
        if not spelt.asks or len(found) == 1:
            return found
        return [each for each in found if spelt.lost(self._telling.said([each])) <= lost]
