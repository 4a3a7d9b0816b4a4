"""How search chooses from the scores of a step, so that a GPU can replay the step and the choice as one piece."""

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
