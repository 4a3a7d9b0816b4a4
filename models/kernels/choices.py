"""How search chooses from the scores of a step, so that steps and choices can be taken in one piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen from the scores of a step, for R = B x N hypotheses."""

    found: tuple[Tensor, ...]
    """(..., B, K) results for search to look at later."""
    tokens: Tensor
    """(R,) the next tokens."""
    totals: Tensor
    """(B, N) log-probabilities of the hypotheses including these tokens."""
    rows: Tensor | None = None
    """(R,) the hypotheses that the tokens continue; None if each continues its own."""


class Choice(Protocol):
    """Chooses from the scores of a step without waiting for the device; equal choices choose the same."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """Choose.

        Args:
            logits: (R, V), for the next token; only those of sentence ends that come too early are overwritten.
            totals: (B, N) log-probabilities of the hypotheses so far, float32.
            said: (R,) how many tokens each hypothesis has so far.
        """

    def __hash__(self) -> int:
        """Return the same hash for equal choices."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some steps of search that are taken in one piece, which ends as soon as enough sentences may be done."""

    most: int
    """The most steps; a decoder may take fewer."""
    early: Sequence[int]
    """(R,): for how many more steps each hypothesis must not end."""
    forbidden: Sequence[tuple[int, int]]
    """Pairs of a row and a token that is not chosen there, in any of the steps."""
    left: Sequence[int]
    """(B,): after how many steps a sentence is done in any case; 0 if it is done already."""
    missing: Sequence[int]
    """(B,): how many more of a sentence's hypotheses have to end before it may be done."""
    enough: int
    """How many sentences are to be done, counting those that are done already."""
