"""The candidates that a step of beam search chooses from, by the CPU kernel and by torch, as on a GPU."""

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.data.tokenizer import BOS, EOS, PAD
from models.search.candidates import Candidates, by_torch, candidates_of

INFINITY = float("inf")


def of_one_sentence(values: list[int], size: int, alive: int) -> Candidates:
    """Candidates of `alive` equally good hypotheses with the same next scores; at first, fewer than `size` exist."""
    totals = torch.tensor([[0.0] * alive + [-INFINITY] * (size - alive)])
    return candidates_of(torch.tensor([values] * size, dtype=torch.float32), totals, (), ())


@given(st.lists(st.integers(0, 5), min_size=16, max_size=60), st.integers(1, 5), st.sampled_from([1, 12]), st.data())
def test_the_best_come_first_and_of_equal_ones_the_lowest(
    values: list[int], size: int, times: int, data: st.DataObject
) -> None:
    """Ties are in the order of hypotheses, then tokens, for any size of vocabulary; padding and <s> never occur."""
    values, alive = values * times, data.draw(st.integers(1, size))
    best = of_one_sentence(values, size, alive).best
    allowed = [token for token in range(len(values)) if token not in {PAD, BOS}]
    ranked = sorted(product(range(alive), allowed), key=lambda each: (-values[each[1]], each))[: 2 * size]
    assert list(zip(best.origins[0].tolist(), best.tokens[0].tolist(), strict=True)) == ranked
    expected = torch.tensor(values, dtype=torch.float32).log_softmax(0)[[token for _, token in ranked]]
    torch.testing.assert_close(best.scores[0], expected)


@given(st.lists(st.integers(0, 5), min_size=16, max_size=60), st.integers(1, 5))
def test_the_beam_goes_on_with_the_best_that_do_not_end(values: list[int], size: int) -> None:
    """Candidates that do not end keep their places, and the next best take the places of those that end."""
    values[EOS] = 5
    found = of_one_sentence(values, size, size)
    pairs = [
        list(zip(each.origins[0].tolist(), each.tokens[0].tolist(), strict=True)) for each in (found.best, found.going)
    ]
    spare = iter([pair for pair in pairs[0][size:] if pair[1] != EOS])
    assert pairs[1] == [next(spare) if pair[1] == EOS else pair for pair in pairs[0][:size]]


@pytest.mark.parametrize("vocabulary", [30, 64, 1000])
@pytest.mark.parametrize("size", [1, 4, 7])
def test_both_ways_find_the_same(size: int, vocabulary: int) -> None:
    """The kernel and torch agree, even if ends are too early, or certain tokens are forbidden."""
    generator = torch.Generator().manual_seed(size)
    logits = 5 * torch.randn(6 * size, vocabulary, generator=generator)
    logits[:, EOS] += 9
    totals = 5 * torch.randn(6, size, generator=generator)
    rules = [0, 3], [(1, 7), (size, int(logits[size].argmax())), (size, 9)]
    mine, torchs = candidates_of(logits.clone(), totals, *rules), by_torch(logits.clone(), totals, *rules)
    for found, expected in ((mine.best, torchs.best), (mine.going, torchs.going)):
        torch.testing.assert_close(found.scores, expected.scores)
        assert torch.equal(found.origins, expected.origins)
        assert torch.equal(found.tokens, expected.tokens)


def test_what_is_no_number_is_not_made_one() -> None:
    """A NaN for one sentence makes its own scores not finite, and leaves the others as they are."""
    logits = torch.zeros(8, 100)
    logits[2, 50] = float("nan")
    best = candidates_of(logits, torch.zeros(4, 2), (), ()).best
    assert not best.scores[1].isfinite().any()
    assert best.scores[[0, 2, 3]].isfinite().all()
