"""States of inputs that come again are kept, within bounds."""

from pathlib import Path

import torch
from torch import Tensor

from models.network.bert import FrozenBert
from models.network.pretrained import StateCache
from tests.support.bert import POSITIONS, WIDTH

ROW = WIDTH * 4
"""Bytes of the state of one piece."""


class Counting(FrozenBert):
    """Notes what it is asked for."""

    def __init__(self, folder: Path) -> None:
        """The small BERT."""
        super().__init__(folder, WIDTH, POSITIONS)
        self.asked: list[list[list[int]]] = []

    def states(self, tokens: Tensor) -> Tensor:
        """As it is."""
        self.asked.append(tokens.tolist())
        return super().states(tokens)


def test_same_states_with_and_without(bert: Path) -> None:
    """Whether an input is new, twice in a batch or known; padding is zero."""
    encoder, cache = Counting(bert), StateCache()
    first = torch.tensor([[3, 6, 8, 4, 0, 0], [3, 9, 4, 0, 0, 0], [3, 6, 8, 4, 0, 0]])
    second = torch.tensor([[3, 9, 4, 0], [3, 7, 7, 4]])
    for batch in (first, second, first):
        assert torch.allclose(cache.states(encoder, batch), FrozenBert.states(encoder, batch), atol=1e-5)
    assert [len(asked) for asked in encoder.asked] == [2, 1]
    assert encoder.asked[1] == [[3, 7, 7, 4]]


def test_the_oldest_go_first(bert: Path) -> None:
    """Room for two inputs of three pieces: the one that was asked for least recently is computed anew."""
    encoder, cache = Counting(bert), StateCache(limit=6 * ROW)
    one, two, three = ([[3, piece, 4]] for piece in (6, 7, 8))
    for batch in (one, two, one, three, one, two):
        cache.states(encoder, torch.tensor(batch))
    assert encoder.asked == [one, two, three, two]
    assert cache.kept.size == 6 * ROW


def test_a_batch_may_be_larger_than_what_is_kept(bert: Path) -> None:
    """It is answered all the same, and nothing beyond the bound stays."""
    encoder, cache = Counting(bert), StateCache(limit=4 * ROW)
    batch = torch.tensor([[3, piece, 4] for piece in range(5, 12)])
    assert torch.allclose(cache.states(encoder, batch), FrozenBert.states(encoder, batch), atol=1e-5)
    assert cache.kept.size <= 4 * ROW
