"""Drafts change only how many steps greedy search takes."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.data.batches import Batch, Tokens, make_batch
from models.data.tokenizer import EOS
from models.search.greedy import GreedySearch
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.running import Wanted
from tests.support.search import search

Make = Callable[..., Any]
KINDS = 12
LONGEST = 9
TOKENS = st.lists(st.integers(4, 59), max_size=LONGEST + 2)


def direct(decoder: Any, options: SearchOptions, kinds: Sequence[int] = range(KINDS)) -> list[Hypothesis]:
    """Greedy search without drafts."""
    batch = make_batch([[kind] for kind in kinds], None, {})
    return [found for (found,) in search(decoder, batch, options, [LONGEST] * len(kinds))]


def verified(decoder: Any, options: SearchOptions, batch: Batch, drafts: Sequence[Tokens]) -> list[Hypothesis]:
    """Greedy search with drafts."""
    found = search(decoder, batch, options, [LONGEST] * len(drafts), drafts)
    return [hypothesis for (hypothesis,) in found]


def same(one: Sequence[Hypothesis], other: Sequence[Hypothesis]) -> bool:
    """Whether tokens, scores and the memories for the next sentences agree."""
    assert [found.log_probability for found in one] == pytest.approx([found.log_probability for found in other])
    for mine, yours in zip(one, other, strict=True):
        assert mine.memory == yours.memory
    return [(found.tokens, found.finished) for found in one] == [(found.tokens, found.finished) for found in other]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 9),
    least=st.integers(0, 4),
    most=st.sampled_from([None, 1, 5]),
    stride=st.sampled_from([1, 4]),
    kept=st.lists(st.integers(0, LONGEST), min_size=KINDS, max_size=KINDS),
    rest=st.lists(TOKENS, min_size=KINDS, max_size=KINDS),
)
def test_whatever_the_drafts_the_result_is_the_same(
    make_decoder: Make,
    make_sources: Callable[[int], Batch],
    seed: int,
    least: int,
    most: int | None,
    stride: int,
    kept: list[int],
    rest: list[list[int]],
) -> None:
    """Drafts in one batch may agree up to any token, be empty, or of any length: translations are as without them.

    This holds however many steps search takes at once, as on a GPU.
    """
    decoder, options = make_decoder(KINDS, seed, {EOS: 3.0}), SearchOptions(1, min_length=least, most_repeated=most)
    expected = direct(decoder, options)
    decoder.stride = stride
    drafts = [found.tokens[:count] + tail for found, count, tail in zip(expected, kept, rest, strict=True)]
    found = verified(decoder, options, make_sources(KINDS), drafts)
    if stride == 1:
        assert same(found, expected)
    else:  # only a search that looks at every step leaves memories to the next sentence
        assert [each.tokens for each in found] == [each.tokens for each in expected]
    for each, draft, count in zip(found, drafts, kept, strict=True):
        assert each.tokens[: each.kept] == list(draft[: each.kept])
        assert most or each.kept >= min(count, len(each.tokens) - (not each.finished))


def test_perfect_drafts_take_one_pass_and_no_step(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """If drafts agree to their ends, nothing is decoded token by token."""
    decoder, options = make_decoder(KINDS, scores={EOS: 3.0}), SearchOptions(1)
    drafts = [found.tokens for found in direct(decoder, options)]
    decoder.rows.clear()
    found = verified(decoder, options, make_sources(KINDS), drafts)
    assert [each.tokens for each in found] == drafts
    assert [each.kept for each in found if each.finished] == [len(each.tokens) for each in found if each.finished]
    assert decoder.rows == []
    assert decoder.passes == [(KINDS, min(LONGEST, 1 + max(map(len, drafts))))]


def test_only_what_comes_after_the_difference_is_decoded(make_decoder: Make) -> None:
    """A draft with a wrong token in the middle saves the steps before it, and the step for the right token."""
    decoder, options = make_decoder(1, scores={EOS: -50.0}), SearchOptions(1)
    ((expected),) = direct(decoder, options, [0])
    wrong = [*expected.tokens[:4], expected.tokens[4] % 50 + 5, *expected.tokens[5:]]
    decoder.rows.clear()
    (found,) = verified(decoder, options, make_batch([[0]], None, {}), [wrong])
    assert found.tokens == expected.tokens
    assert found.kept == 4
    assert decoder.rows == [1] * (LONGEST - 5)


def test_what_is_kept_of_a_draft_that_repeats_itself(make_decoder: Make) -> None:
    """As much is kept as greedy search says before it would loop."""
    decoder, options = make_decoder(1, scores={41: 60.0, 42: 30.0}), SearchOptions(1, most_repeated=4)
    ((expected),) = direct(decoder, options, [0])
    (found,) = verified(decoder, options, make_batch([[0]], None, {}), [[41] * 8])
    assert found.tokens == expected.tokens
    assert expected.tokens[:5] == [41] * 4 + [42]
    assert found.kept == 4


def test_without_drafts_nothing_is_read_at_once(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """Empty drafts count as none."""
    decoder = make_decoder(KINDS)
    verified(decoder, SearchOptions(1), make_sources(KINDS), [()] * KINDS)
    assert decoder.passes == []


@pytest.mark.parametrize("seed", range(5))
def test_sentences_with_drafts_join_others(make_decoder: Make, seed: int) -> None:
    """Sentences added while others run get one result each, the same as alone, even if they finish at once."""
    decoder, options, chooser = make_decoder(KINDS, seed, {EOS: 2.0}), SearchOptions(1), random.Random(seed)
    expected = direct(decoder, options)
    running, found = GreedySearch(decoder, options), dict[int, Hypothesis]()
    for kinds in ([0, 1, 2], [3, 4], [5], [6, 7, 8, 9, 10, 11]):
        wanted = [
            Wanted(
                kind,
                LONGEST,
                [*expected[kind].tokens[: chooser.randint(0, LONGEST)], *[chooser.randint(4, 59)] * (kind % 2)],
            )
            for kind in kinds
        ]
        running.add(make_batch([[kind] for kind in kinds], None, {}), wanted)
        found |= {each.key: each.hypotheses[0] for each in running.step()}
    running.drop([11])
    while running.running:
        for each in running.step():
            assert each.key not in found
            found[each.key] = each.hypotheses[0]
    kept = [key for key in range(KINDS) if key != 11 or key in found]
    assert sorted(found) == kept
    assert same([found[key] for key in kept], [expected[key] for key in kept])
