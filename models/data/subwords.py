"""Subword regularisation: sentences in other segmentations than their best ones, drawn anew each time (Kudo 2018)."""

from collections.abc import Sequence

import numpy as np

from models.data.tokenizer import Tokenizer


class SubwordSampler:
    """Draws segmentations of the sentence pairs of a corpus, whose texts it holds."""

    def __init__(self, tokenizer: Tokenizer, sources: Sequence[str], targets: Sequence[str], alpha: float) -> None:
        """Draw from the models of `tokenizer`; `alpha` is `training.subword_sampling`."""
        self._tokenizer = tokenizer
        self._sources, self._targets = sources, targets
        self._alpha = alpha

    def draw(self, indices: Sequence[int], seed: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of sources and of targets, without BOS and EOS.

        Args:
            indices: indices of the pairs.
            seed: numbers that fully determine the draw.
        """
        of_sources, of_targets = map(int, np.random.SeedSequence(seed).generate_state(2))
        sources, targets = [self._sources[i] for i in indices], [self._targets[i] for i in indices]
        return (
            self._tokenizer.sample_sources(sources, self._alpha, of_sources),
            self._tokenizer.sample_targets(targets, self._alpha, of_targets),
        )
