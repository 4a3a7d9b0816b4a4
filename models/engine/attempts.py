"""Tries to translate a part of a request, until all that has to be in its translation is."""

import re
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from models.data.glossary import Term
from models.data.spelt import Spelt
from models.engine.preparation import Prepared
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import Hypothesis

MOST: Final = 3
"""Tries with stand-ins: where one does not come back, another does half the time, a third in a quarter of the rest."""

_AROUND: Final = re.compile(r"""^["'“「『]+|\s*[(（].*$|[.。"'”」』]+$""")
"""What a term has around it in a translation of it alone, and not in a sentence."""

Best = tuple[TokenizedRequest, Spelt, list[Hypothesis]]
"""What was translated, how it was read, and what was found, best first."""
_Asking = Generator[TokenizedRequest, list[Hypothesis], None]
"""Asks for translations, one after another."""


class Telling(Protocol):
    """Has a part read in other ways, and says what was found."""

    def retold(
        self, request: TokenizedRequest, spelt: Spelt, turn: int, missing: Collection[Term]
    ) -> tuple[TokenizedRequest, Spelt] | None:
        """The part with other words for what is not read, for the `turn`th time; none if there is no way."""

    def alone(self, term: Term) -> TokenizedRequest | None:
        """A term as a sentence of its own, if it can be one."""

    def said(self, hypothesis: Hypothesis) -> str:
        """What a hypothesis says."""


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

    def _ask(self) -> _Asking:
        found = yield self._request
        self._judge(self._request, self._spelt, found)
        if self._missing:
            yield from self._ask_for_wordings()
            self._missing.clear()
            self._judge(self._request, self._spelt, found)
        for turn in range(1, MOST + bool(self._missing)):
            told = self._telling.retold(self._request, self._spelt, turn, self._missing) if self._lost else None
            if told is None:
                return
            request, spelt = told
            self._judge(request, spelt, (yield request))

    def _ask_for_wordings(self) -> _Asking:
        """Ask what the model says for each term that is missing."""
        for term in self._missing:
            alone = self._telling.alone(term)
            if alone is not None:
                (best, *_) = yield alone
                if wording := _AROUND.sub("", self._telling.said(best)):
                    self._spelt = replace(self._spelt, worded=(*self._spelt.worded, (wording, term)))

    def _judge(self, request: TokenizedRequest, spelt: Spelt, found: list[Hypothesis]) -> None:
        """Keep it if it is better than the best."""
        said = self._telling.said(found[0])
        lost = spelt.lost(said) if spelt.asks else 0
        if not self._best[2] or lost < self._lost:
            self._lost, self._best = lost, (request, spelt, found)
        self._missing |= dict.fromkeys(spelt.missing(said))
