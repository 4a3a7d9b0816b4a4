"""Interface to externally pretrained encoders, which are used but never changed.

Their input is a tensor of their own token ids, counted from 1, so that 0 is padding in every vocabulary.
"""

from typing import Protocol

from torch import Tensor

from models.data.wordpiece import WordPiece


class PretrainedEncoder(Protocol):
    """An encoder that returns the states of its last layer."""

    @property
    def wordpiece(self) -> WordPiece:
        """Its tokenizer."""

    def states(self, tokens: Tensor) -> Tensor:
        """Return states (B, M, E) of padded ids (B, M), zero at padding, without gradients."""
