from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.data.batches import Batch
from models.data.tokenizer import EOS
from models.search.beam import BeamSearch
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from models.search.loops import continues_loop, may_continue_loops
from models.search.search import run

Make = Callable[..., Any]
Sources = Callable[[int], Batch]


@pytest.mark.parametrize(
    ("tokens", "next_one"),
    [
        ([7] * 12, 7),
        ([7] * 11, None),
        ([9, 4, *[5, 6] * 6], 5),
        ([*[5, 6] * 6, 5], 6),
        ([*[5, 6] * 6, 8], None),
        ([1, 2, 3, 4] * 4, 1),
        ([1, 2, 3, 4] * 3, None),
        (list(range(20)) * 4, None),
        ([], None),
    ],
)
def test_what_would_go_on_with_a_loop(tokens: Sequence[int], next_one: int | None) -> None:
    """An n-gram may fill twelve tokens in a row, and stand there four times; one more may not begin."""
    assert continues_loop(tokens, 12) == next_one
    assert continues_loop(tokens, None) is None


@given(st.lists(st.integers(1, 3), max_size=20), st.integers(1, 16), st.integers(4, 8))
def test_who_is_in_a_loop_is_looked_at(before: list[int], size: int, copies: int) -> None:
    """Whatever was said before it, and whatever the loop is of; who says always something else is not."""
    tokens = [*before, *(list(range(20, 20 + size)) * copies)]
    assert continues_loop(tokens, 4) is not None
    assert may_continue_loops(torch.tensor([tokens, range(len(tokens)), tokens])) == [0, 2]


@pytest.mark.parametrize("search", [GreedySearch, BeamSearch])
def test_a_translation_does_not_loop_to_its_maximum_length(
    search: Callable[..., Any], make_decoder: Make, make_sources: Sources
) -> None:
    """A model that wants nothing but one word is made to say others in between; without the guard it never does."""
    size = 1 if search is GreedySearch else 3
    decoder = make_decoder(2, scores={41: 60.0, EOS: -50.0})
    for most, longest in ((12, 12), (None, 40)):
        for best, *_ in run(search(decoder, SearchOptions(size, most_repeated=most)), make_sources(2), [40, 40]):
            assert max(len(list(same)) for token, same in groupby(best.tokens) if token == 41) == longest
