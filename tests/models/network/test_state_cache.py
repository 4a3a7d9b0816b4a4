"""States of repeated inputs are kept, within bounds."""

import pytest
import torch
from torch import Tensor

from models.network.state_cache import StateCache

WIDTH = 3
ROW = WIDTH * 4
"""Bytes of the state of one token."""


class Counting:
    """Computes states that depend on the whole row, and records what it is asked for."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.asked: list[list[list[int]]] = []

    def __call__(self, tokens: Tensor) -> list[Tensor]:
        """Return states (U, X, E) that differ for each token and each sum of a row."""
        self.asked.append(tokens.tolist())
        return [states_of(tokens)]


def states_of(tokens: Tensor) -> Tensor:
    """The states that `Counting` gives, with zeros for padding."""
    states = torch.stack([tokens * 2.5, tokens + 7.0, tokens.sum(1, keepdim=True).expand_as(tokens)], dim=-1)
    return states * tokens.ne(0)[:, :, None]


def test_same_states_with_and_without() -> None:
    """Inputs may be new, repeated in a batch, or known; padding is zero, even if every row has some."""
    compute, cache = Counting(), StateCache()
    first = torch.tensor([[3, 6, 8, 4, 0, 0], [3, 9, 4, 0, 0, 0], [3, 6, 8, 4, 0, 0]])
    second = torch.tensor([[3, 9, 4, 0], [3, 7, 7, 4]])
    for batch in (first, second, first):
        (found,) = cache.states(compute, batch)
        assert torch.equal(found, states_of(batch))
    assert [len(asked) for asked in compute.asked] == [2, 1]
    assert compute.asked[1] == [[3, 7, 7, 4]]


def test_what_is_new_is_not_padded_to_what_is_kept() -> None:
    """A short new input among long known ones is computed without their padding."""
    compute, cache = Counting(), StateCache()
    cache.states(compute, torch.tensor([[3, 6, 8, 5, 7, 4]]))
    (found,) = cache.states(compute, batch := torch.tensor([[3, 6, 8, 5, 7, 4], [9, 4, 0, 0, 0, 0]]))
    assert compute.asked[1] == [[9, 4]]
    assert torch.equal(found, states_of(batch))


def test_an_input_of_two_parts_is_known_by_both() -> None:
    """A sentence with another translation is another input; each part has states of its own length."""
    asked: list[list[list[int]]] = []

    def compute(sources: Tensor, targets: Tensor) -> list[Tensor]:
        asked.append(targets.tolist())
        return [states_of(sources), states_of(targets) * sources.sum(1)[:, None, None]]

    cache = StateCache()
    sources = torch.tensor([[5, 6, 0], [5, 6, 0], [7, 8, 9]])
    targets = torch.tensor([[4, 3, 2, 1], [4, 3, 0, 0], [4, 3, 0, 0]])
    for rows in ([0, 2], [0, 1, 2]):
        one, other = cache.states(compute, sources[rows], targets[rows])
        expected = compute(sources[rows], targets[rows])
        assert torch.equal(one, expected[0])
        assert torch.equal(other, expected[1])
    assert asked[::2] == [[[4, 3, 2, 1], [4, 3, 0, 0]], [[4, 3]]]


def test_a_part_may_have_no_states() -> None:
    """A part that only says how others are read still belongs to the input."""
    cache = StateCache()
    tokens = torch.tensor([[5, 6], [5, 6]])

    def compute(tokens: Tensor, place: Tensor) -> list[Tensor]:
        return [states_of(tokens) + place[:, :, None]]

    for _ in range(2):
        (found,) = cache.states(compute, tokens, torch.tensor([[1], [2]]))
        assert torch.equal(found[1], found[0] + 1)
    assert (cache.kept.hits, cache.kept.misses) == (2, 2)


def test_the_oldest_go_first() -> None:
    """With room for two inputs of three tokens, the least recently used one has to be computed anew."""
    compute, cache = Counting(), StateCache(limit=6 * ROW)
    one, two, three = ([[3, piece, 4]] for piece in (6, 7, 8))
    for batch in (one, two, one, three, one, two):
        cache.states(compute, torch.tensor(batch))
    assert compute.asked == [one, two, three, two]
    assert cache.kept.size == 6 * ROW


@pytest.mark.parametrize("limit", [0, 4 * ROW])
def test_a_batch_may_be_larger_than_what_is_kept(limit: int) -> None:
    """It is still answered, and nothing beyond the limit is kept."""
    cache = StateCache(limit)
    batch = torch.tensor([[3, piece, 4] for piece in range(5, 12)])
    (found,) = cache.states(Counting(), batch)
    assert torch.equal(found, states_of(batch))
    assert cache.kept.size <= limit


def test_what_is_kept_is_no_view_of_a_batch() -> None:
    """Only the counted bytes are held in memory, and changing an answer does not change what is kept."""
    cache = StateCache()
    batch = torch.tensor([[3, 6, 8, 4], [5, 4, 0, 0]])
    (found,) = cache.states(Counting(), batch)
    found.zero_()
    assert torch.equal(cache.states(Counting(), batch)[0], states_of(batch))
    assert cache.kept.size == 6 * ROW
