from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.data.batches import Batch, make_batch
from models.data.tokenizer import BOS, EOS
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from tests.support.search import run

Make = Callable[..., Any]
OPTIONS = SearchOptions(1, min_length=0)


def follow(decoder: Any, kind: int, limit: int) -> tuple[list[int], float]:
    """Greedy search for a single sentence, in the simplest way; returns its tokens and their log-probability."""
    state = decoder.start(make_batch([[kind]], None, {}))
    tokens, total = [BOS], 0.0
    while tokens[-1] != EOS and len(tokens) <= limit:
        scores = decoder.step(torch.tensor(tokens[-1:]), state)[0].log_softmax(-1).tolist()
        tokens.append(max(range(EOS, len(scores)), key=scores.__getitem__))
        total += scores[tokens[-1]]
    return tokens[1:], total


def test_the_likeliest_token_is_taken_at_each_step(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """Sentences that end at different steps, or not at all, get what a simple search finds for each alone."""
    decoder = make_decoder(20, scores={EOS: 4.0})
    found = run(GreedySearch(decoder, OPTIONS), make_sources(20), [12] * 20)
    for kind, (hypothesis,) in enumerate(found):
        tokens, total = follow(decoder, kind, 12)
        assert [*hypothesis.tokens, *[EOS] * hypothesis.finished] == tokens
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-5)
        assert hypothesis.score == pytest.approx(total / len(tokens), abs=1e-6)
    assert len({hypothesis.length for (hypothesis,) in found}) > 3
    assert {hypothesis.finished for (hypothesis,) in found} == {True, False}


def test_a_finished_sentence_leaves_the_batch(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """No step computes anything for a finished sentence."""
    decoder = make_decoder(20, scores={EOS: 4.0})
    found = run(GreedySearch(decoder, OPTIONS), make_sources(20), [12] * 20)
    lengths = [hypothesis.length for (hypothesis,) in found]
    assert decoder.rows == [sum(length > step for length in lengths) for step in range(max(lengths))]


def test_each_sentence_has_its_own_maximum_length(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """A sentence that does not end is cut at its own maximum, while others continue."""
    found = run(GreedySearch(make_decoder(3, scores={EOS: -50.0}), OPTIONS), make_sources(3), [5, 1, 9])
    assert [hypothesis.length for (hypothesis,) in found] == [5, 1, 9]
    assert not any(hypothesis.finished for (hypothesis,) in found)


def test_the_minimum_length_is_kept(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """A model that always wants to end may do so only after `min_length` tokens."""
    decoder, batch = make_decoder(3, scores={EOS: 50.0}), make_sources(3)
    for length in (0, 1, 4):
        found = run(GreedySearch(decoder, SearchOptions(1, min_length=length)), batch, [9] * 3)
        assert [len(hypothesis.tokens) for (hypothesis,) in found] == [length] * 3


def test_of_equal_tokens_the_lowest_is_taken(make_decoder: Make, make_sources: Callable[[int], Batch]) -> None:
    """A tie is broken by the id, so that the result does not depend on the machine."""
    found = run(GreedySearch(make_decoder(1, scores={41: 9.0, 23: 9.0, 50: 9.0}), OPTIONS), make_sources(1), [3])
    assert found[0][0].tokens == [23, 23, 23]
