"""Noise in training contexts: some are dropped or exchanged, so that a model neither needs nor trusts each one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class ContextNoise:
    """The shares of sentences that are trained without their context, or with that of others."""

    dropout: float = 0.0
    """Share of the sentences that are trained without context."""
    shuffling: float = 0.0
    """Share of sentences that exchange contexts among themselves, within their batch, where lengths are similar."""

    def neighbours(self, indices: Sequence[int], seed: Sequence[int]) -> list[int | None]:
        """Return, for each sentence of a batch, the one whose context is read, normally itself; None for no context.

        Args:
            indices: indices of the sentences.
            seed: numbers that fully determine the draw.
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
