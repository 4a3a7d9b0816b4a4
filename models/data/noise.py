"""Contexts that are left out or exchanged in training, so that a model neither needs nor trusts every context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class ContextNoise:
    """How many sentences are learnt without their context, and how many with that of others."""

    dropout: float = 0.0
    """Share of the sentences that are learnt without."""
    shuffling: float = 0.0
    """Share of those that exchange it with one another, inside their batch: there contexts are of like length."""

    def neighbours(self, indices: Sequence[int], seed: Sequence[int]) -> list[int | None]:
        """For each sentence of a batch the one whose context it is learnt with, itself as a rule; None for no context.

        Args:
            indices: of the sentences.
            seed: numbers that alone decide what is drawn.
        """
        random = np.random.default_rng(seed)
        fate = random.random(len(indices))
        found: list[int | None] = list(indices)
        for row in np.flatnonzero(fate < self.dropout):
            found[row] = None
        exchanging = random.permutation(np.flatnonzero((fate >= self.dropout) & (fate < self.dropout + self.shuffling)))
        for row, other in zip(exchanging, np.roll(exchanging, 1), strict=True):
            found[row] = indices[other]
        return found
