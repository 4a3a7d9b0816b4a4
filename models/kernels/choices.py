"""What search takes of the scores of a step, as one piece with the step, where a GPU does both again and again."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was taken of the scores of a step, of R = B x N hypotheses."""

    found: tuple[Tensor, ...]
    """For search to look at later, (..., B, K)."""
    tokens: Tensor
    """(R,) that come next."""
    totals: Tensor
    """(B, N) log-probabilities of the hypotheses with them."""
    rows: Tensor | None = None
    """(R,) hypotheses that they continue; None where each goes on from itself."""


class Choice(Protocol):
    """Takes something of the scores of a step, without waiting for the device; equal ones take the same."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """Choose.

        Args:
            logits: (R, V) of the next token; those of ends that come too early are overwritten, and no others.
            totals: (B, N) log-probabilities of the hypotheses so far, float32.
            said: (R,) tokens of each hypothesis so far.
        """

    def __hash__(self) -> int:
        """Of equal ones the same."""
