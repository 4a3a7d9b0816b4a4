"""Tries to translate a part of a request, until what has to come back of what the model reads for it does."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from models.data.verbatim import Spelt
from models.engine.preparation import Prepared
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import Hypothesis

MOST: Final = 3
"""Tries: where one word does not come back, another one does half the time, and a third in a quarter of the rest."""

Best = tuple[TokenizedRequest, Spelt, list[Hypothesis]]
"""What was translated, how it was read, and what was found, best first."""


class Retell(Protocol):
    """Has a part read with other words in the place of what is not read; none where that is not possible."""

    def __call__(self, request: TokenizedRequest, spelt: Spelt, turn: int) -> tuple[TokenizedRequest, Spelt] | None:
        """The `turn`th other way to read it."""


class Attempts:
    """Those for one part; the best so far, and of two as good the first, is its translation."""

    def __init__(
        self, request: TokenizedRequest, spelt: Spelt, retell: Retell, said: Callable[[Hypothesis], str]
    ) -> None:
        self._first = self._now = (request, spelt)
        self._retell = retell
        self._said = said
        self._taken = 0
        self._lost = 0
        self._best: Best = (*self._first, [])

    @classmethod
    def of(cls, prepared: Prepared, retell: Retell, said: Callable[[Hypothesis], str]) -> list["Attempts"]:
        """For each part of a request; `said` is what a hypothesis says."""
        return [cls(*part, retell, said) for part in zip(prepared.parts, prepared.spelt, strict=True)]

    @property
    def request(self) -> TokenizedRequest:
        """What is to be translated now."""
        return self._now[0]

    @property
    def best(self) -> Best:
        """The translation."""
        return self._best

    def take(self, hypotheses: Sequence[Hypothesis]) -> bool:
        """Take what was found for the request; gives whether there is another one to try."""
        lost = self._now[1].lost(self._said(hypotheses[0])) if self._now[1].replaced else 0
        if self._taken == 0 or lost < self._lost:
            self._lost, self._best = lost, (*self._now, list(hypotheses))
        self._taken += 1
        if self._lost == 0 or self._taken == MOST:
            return False
        told = self._retell(*self._first, self._taken)
        self._now = told or self._now
        return told is not None
