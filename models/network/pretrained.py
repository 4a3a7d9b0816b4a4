"""Encoders that somebody else has trained, which are read and never changed: what an architecture sees of one.

Their input is a tensor of ids of their own pieces, counted from 1, so that 0 is padding in every vocabulary.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from models.data.batches import pad
from models.data.wordpiece import WordPiece

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
        self._limit = limit
        self._kept: OrderedDict[tuple[int, ...], Tensor] = OrderedDict()
        self._bytes = 0

    def states(self, encoder: PretrainedEncoder, tokens: Tensor) -> Tensor:
        """As `encoder.states`, which sees each input that is not kept once."""
        rows = [tuple(filter(None, row)) for row in tokens.tolist()]
        found = {row: self._kept[row] for row in rows if row in self._kept}
        if new := list(dict.fromkeys(row for row in rows if row not in found)):
            found |= zip(new, _apart(encoder, new, tokens.device), strict=True)
        for row, states in found.items():
            self._keep(row, states)
        width = next(iter(found.values())).size(-1)
        joined = torch.zeros(*tokens.shape, width, device=tokens.device)
        for place, row in zip(joined, rows, strict=True):
            place[: len(row)] = found[row]
        return joined

    def _keep(self, row: tuple[int, ...], states: Tensor) -> None:
        if row in self._kept:
            self._kept.move_to_end(row)
            return
        self._kept[row] = states
        self._bytes += states.nbytes
        while self._bytes > self._limit:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.nbytes


def _apart(encoder: PretrainedEncoder, rows: Sequence[tuple[int, ...]], device: torch.device) -> list[Tensor]:
    states = encoder.states(pad(rows).to(device)).float()
    return [each[: len(row)].clone() for each, row in zip(states, rows, strict=True)]
