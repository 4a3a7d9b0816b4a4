"""Encoders that somebody else has trained, which are read and never changed: what an architecture sees of one.

Their input is a tensor of ids of their own pieces, counted from 1, so that 0 is padding in every vocabulary.
"""

from typing import Protocol

from torch import Tensor

from models.data.wordpiece import WordPiece


class PretrainedEncoder(Protocol):
    """Gives the states of its last layer."""

    @property
    def wordpiece(self) -> WordPiece:
        """Its tokenization."""

    def states(self, tokens: Tensor) -> Tensor:
        """States (B, M, E) of padded ids (B, M), zero at padding, without gradients."""
