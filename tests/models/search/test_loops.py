from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.data.batches import Batch
from models.data.tokenizer import EOS
from models.search.beam import BeamSearch
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from models.search.loops import continues_loop, tokens_to_loop
from tests.support.search import run

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
    """An n-gram may fill twelve tokens and occur four times in a row; another copy must not begin."""
    assert continues_loop(tokens, 12) == next_one
    assert continues_loop(tokens, None) is None


def test_the_copy_that_reaches_the_limit_is_let_through() -> None:
    """With a limit of nine, which two tokens do not divide, five copies of them are allowed."""
    assert continues_loop([5, 6] * 4, 9) is None
    assert continues_loop([5, 6] * 5, 9) == 5


@given(st.lists(st.integers(1, 3), max_size=20), st.integers(1, 16), st.integers(4, 8))
def test_what_was_said_before_a_loop_is_no_matter(before: list[int], size: int, copies: int) -> None:
    """A loop is found after any other tokens, whatever is repeated."""
    assert continues_loop([*before, *(list(range(20, 20 + size)) * copies)], 4) is not None


@given(st.lists(st.integers(1, 2), max_size=40), st.lists(st.integers(1, 2), max_size=40), st.sampled_from([4, 12, 32]))
def test_there_is_no_loop_before_there_may_be_one(before: list[int], after: list[int], most: int) -> None:
    """No loop can occur within the predicted number of tokens, and with the right tokens, one occurs right after."""
    free = tokens_to_loop(before, most)
    assert all(continues_loop([*before, *after[:count]], most) is None for count in range(min(free, len(after) + 1)))
    goes_on = [list(before) for _ in range(16)]
    for n, tokens in enumerate(goes_on, 1):
        for _ in range(free):
            tokens.append(tokens[-n] if len(tokens) >= n else 9)
    assert not before or len(before) < 16 or any(continues_loop(tokens, most) is not None for tokens in goes_on)


@pytest.mark.parametrize("search", [GreedySearch, BeamSearch])
def test_a_translation_does_not_loop_to_its_maximum_length(
    search: Callable[..., Any], make_decoder: Make, make_sources: Sources
) -> None:
    """A model that always prefers the same word is made to say others in between; without the limit, it loops."""
    size = 1 if search is GreedySearch else 3
    decoder = make_decoder(2, scores={41: 60.0, EOS: -50.0})
    for most, longest in ((12, 12), (None, 40)):
        for best, *_ in run(search(decoder, SearchOptions(size, most_repeated=most)), make_sources(2), [40, 40]):
            assert max(len(list(same)) for token, same in groupby(best.tokens) if token == 41) == longest
