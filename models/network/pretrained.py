"""Encoders that somebody else has trained, which are read and never changed: what an architecture sees of one.

Their input is a tensor of ids of their own pieces, counted from 1, so that 0 is padding in every vocabulary.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from models.data.batches import pad
from models.data.wordpiece import WordPiece
from models.network.recent import Recent

CACHE_BYTES = 256 * 2**20


class PretrainedEncoder(Protocol):
    """Gives the states of its last layer."""

    @property
    def wordpiece(self) -> WordPiece:
        """Its tokenization."""

    def states(self, tokens: Tensor) -> Tensor:
        """States (B, M, E) of padded ids (B, M), zero at padding, without gradients."""


class StateCache:
    """The states of the inputs that were asked for most recently, up to so many bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        """Keep at most `limit` bytes between two calls."""
        self._kept: Recent[tuple[int, ...], Tensor] = Recent(limit)

    @property
    def kept(self) -> Recent[tuple[int, ...], Tensor]:
        """The states by input."""
        return self._kept

    def states(self, encoder: PretrainedEncoder, tokens: Tensor) -> Tensor:
        """As `encoder.states`, which sees each input that is not kept once."""
        rows = [tuple(filter(None, row)) for row in tokens.tolist()]
        found = {row: states for row in rows if (states := self._kept.get(row)) is not None}
        if new := list(dict.fromkeys(row for row in rows if row not in found)):
            found |= zip(new, _apart(encoder, new, tokens.device), strict=True)
        for row, states in found.items():
            self._kept.put(row, states, states.nbytes)
        width = next(iter(found.values())).size(-1)
        joined = torch.zeros(*tokens.shape, width, device=tokens.device)
        for place, row in zip(joined, rows, strict=True):
            place[: len(row)] = found[row]
        return joined


def _apart(encoder: PretrainedEncoder, rows: Sequence[tuple[int, ...]], device: torch.device) -> list[Tensor]:
    states = encoder.states(pad(rows).to(device)).float()
    return [each[: len(row)].clone() for each, row in zip(states, rows, strict=True)]
