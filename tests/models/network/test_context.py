import torch

from models.network.context import CACHE_BLOCK, State


def keys(rows: int, length: int, value: float = 0.0) -> torch.Tensor:
    """Keys of so many rows and positions, numbered by row."""
    return (torch.arange(rows) + value)[:, None, None, None].expand(rows, 2, length, 4).clone()


def test_a_cache_gives_back_all_that_it_was_given() -> None:
    """Keys of several calls come back in order, across the blocks by which the cache grows."""
    state = State({}, cached=True)
    parts = [keys(3, length, length / 100) for length in (1, CACHE_BLOCK, 5, 3 * CACHE_BLOCK)]
    for count, part in enumerate(parts, 1):
        assert torch.equal(state.extend("keys", part), torch.cat(parts[:count], dim=2))
        state.position += part.size(2)


def test_without_a_cache_nothing_is_kept() -> None:
    """A whole target is decoded at once: what is given is what comes back."""
    state = State({})
    state.extend("keys", keys(3, 4))
    assert torch.equal(state.extend("keys", keys(3, 2)), keys(3, 2))
    assert not state.moving


def test_reordering_moves_hypotheses_and_keeping_drops_sentences() -> None:
    """`moving` follows the rows, `fixed` the sentences, and neither touches the other."""
    state = State({"memory": torch.tensor([[10.0], [11.0]])}, {"past": torch.tensor([[1.0], [2.0]])})
    state.reorder(torch.tensor([1, 1, 0]))
    assert state.moving["past"].tolist() == [[2.0], [2.0], [1.0]]
    assert state.fixed["memory"].tolist() == [[10.0], [11.0]]
    state.keep(torch.tensor([1]))
    assert state.moving["past"].tolist() == [[2.0], [2.0], [1.0]]
    assert state.fixed["memory"].tolist() == [[11.0]]
