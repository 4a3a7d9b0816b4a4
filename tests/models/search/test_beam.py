from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch

from models.data.batches import Batch, make_batch
from models.data.tokenizer import BOS, EOS
from models.errors import UnsupportedOptionError
from models.search.beam import BeamSearch
from models.search.greedy import GreedySearch
from models.search.hypotheses import SearchOptions
from tests.support.search import run

Make = Callable[..., Any]
Sources = Callable[[int], Batch]


def log_probability(decoder: Any, kind: int, tokens: list[int]) -> float:
    """The decoder's log-probability of a translation, over all of its tokens."""
    state = decoder.start(make_batch([[kind]], None, {}))
    total = 0.0
    for previous, token in zip([BOS, *tokens], tokens, strict=False):
        total += decoder.step(torch.tensor([previous]), state)[0].log_softmax(-1)[token].item()
    return total


def contains(token: int, tokens: Sequence[int]) -> bool:
    """Whether a hypothesis has a token."""
    return token in tokens


def test_a_beam_of_one_is_greedy(make_decoder: Make, make_sources: Sources) -> None:
    """Beam search with one hypothesis gives the tokens and scores of greedy search."""
    decoder, batch, options = make_decoder(20, scores={EOS: 4.0}), make_sources(20), SearchOptions(1)
    greedy, beam = (run(kind(decoder, options), batch, [12] * 20) for kind in (GreedySearch, BeamSearch))
    assert [found[0].tokens for found in beam] == [found[0].tokens for found in greedy]
    assert [found[0].score for found in beam] == pytest.approx([found[0].score for found in greedy], abs=1e-6)


@pytest.mark.parametrize("normalization", ["power", "wu"])
@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.4])
def test_a_wide_beam_finds_the_best_of_all(
    make_decoder: Make, make_sources: Sources, normalization: Any, alpha: float
) -> None:
    """If the beam holds every prefix, the result is the best of all translations under the rule of comparison."""
    words = range(10, 12)
    impossible = dict.fromkeys(set(range(60)).difference(words), -float("inf"))
    decoder = make_decoder(12, scores=impossible | {EOS: 1.0})
    options = SearchOptions(16, 1, normalization, alpha, min_length=0)
    for kind, (found,) in enumerate(run(BeamSearch(decoder, options), make_sources(12), [4] * 12)):
        ended = [[*prefix, EOS] for length in range(4) for prefix in product(words, repeat=length)]
        every = [*ended, *(list(cut) for cut in product(words, repeat=4))]
        scores = {tuple(t): options.normalize(log_probability(decoder, kind, t), len(t)) for t in every}
        assert found.score == pytest.approx(max(scores.values()), abs=1e-5)
        assert (*found.tokens, *[EOS] * found.finished) == max(scores, key=scores.__getitem__)


def test_hypotheses_are_what_the_decoder_thinks_of_them(make_decoder: Make, make_sources: Sources) -> None:
    """Despite reordering, each of the n best keeps its own history: its log-probability is that of its tokens."""
    decoder, options = make_decoder(10, scores={EOS: 3.0}), SearchOptions(5, 5, alpha=0.8, min_length=0)
    for kind, found in enumerate(run(BeamSearch(decoder, options), make_sources(10), [10] * 10)):
        assert len({(*hypothesis.tokens, hypothesis.finished) for hypothesis in found}) == 5
        assert [hypothesis.score for hypothesis in found] == sorted((h.score for h in found), reverse=True)
        for hypothesis in found:
            tokens = [*hypothesis.tokens, *[EOS] * hypothesis.finished]
            assert hypothesis.log_probability == pytest.approx(log_probability(decoder, kind, tokens), abs=1e-4)
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / len(tokens) ** 0.8, abs=1e-6)


def test_a_sentence_is_translated_alike_alone_and_in_a_batch(make_decoder: Make, make_sources: Sources) -> None:
    """Other sentences in the batch change nothing, even if they end earlier or later, or have other maximum lengths."""
    decoder, options = make_decoder(12, scores={EOS: 3.5}), SearchOptions(4, 4)
    limits = [3 + kind % 7 for kind in range(12)]
    together = run(BeamSearch(decoder, options), make_sources(12), limits)
    alone = [run(BeamSearch(decoder, options), make_batch([[k]], None, {}), limits[k : k + 1])[0] for k in range(12)]
    assert together == alone


def test_a_finished_sentence_leaves_the_batch(make_decoder: Make, make_sources: Sources) -> None:
    """A sentence takes part in no steps after its last one."""
    decoder = make_decoder(3, scores={EOS: -50.0})
    run(BeamSearch(decoder, SearchOptions(4)), make_sources(3), [2, 5, 3])
    assert decoder.rows == [12, 12, 8, 4, 4]


def test_a_sentence_that_does_not_end_is_given_as_it_is(make_decoder: Make, make_sources: Sources) -> None:
    """At the maximum length, the best unfinished hypotheses are the result."""
    found = run(BeamSearch(make_decoder(2, scores={EOS: -50.0}), SearchOptions(4, 4)), make_sources(2), [6, 1])
    assert [[hypothesis.length for hypothesis in sentence] for sentence in found] == [[6] * 4, [1] * 4]
    assert not any(hypothesis.finished for sentence in found for hypothesis in sentence)


@pytest.mark.parametrize("stride", [1, 4])
def test_unwanted_hypotheses_are_dropped(make_decoder: Make, make_sources: Sources, stride: int) -> None:
    """No hypothesis continues one that its sentence does not want; no other sentence takes notice."""
    decoder, options, limits = make_decoder(10, scores={EOS: 3.0}), SearchOptions(4, 4), [9] * 10
    decoder.stride = stride
    free = run(BeamSearch(decoder, options), make_sources(10), limits)
    dropped = [found[0].tokens[len(found[0].tokens) // 2] if kind % 2 else None for kind, found in enumerate(free)]
    unwanted = [None if token is None else partial(contains, token) for token in dropped]
    found = run(BeamSearch(decoder, options), make_sources(10), limits, unwanted=unwanted)
    assert found[::2] == free[::2]
    for kind in range(1, 10, 2):
        assert len(found[kind]) == 4
        assert not any(dropped[kind] in h.tokens[: h.length - 1] for h in found[kind])


def test_a_sentence_that_wants_no_hypothesis_has_the_usual_ones(make_decoder: Make, make_sources: Sources) -> None:
    """The last hypotheses are never dropped: each sentence has a translation."""
    decoder, options, limits = make_decoder(5, scores={EOS: 3.0}), SearchOptions(4, 4), [9] * 5
    free = run(BeamSearch(decoder, options), make_sources(5), limits)
    assert run(BeamSearch(decoder, options), make_sources(5), limits, unwanted=[lambda tokens: True] * 5) == free


def test_the_minimum_length_is_kept(make_decoder: Make, make_sources: Sources) -> None:
    """A model that always wants to end may do so only after `min_length` tokens."""
    decoder = make_decoder(3, scores={EOS: 50.0})
    found = run(BeamSearch(decoder, SearchOptions(4, 4, min_length=3)), make_sources(3), [9] * 3)
    assert min(len(hypothesis.tokens) for sentence in found for hypothesis in sentence) == 3


@pytest.mark.parametrize("least", [0, 1])
def test_without_normalisation_search_ends_with_the_first_leader(
    make_decoder: Make, make_sources: Sources, least: int
) -> None:
    """With alpha 0, no longer hypothesis can overtake one that has ended and leads the beam, alone or with others."""
    options = SearchOptions(4, alpha=0, min_length=least)
    alone, beside = make_decoder(1, scores={EOS: 20.0}), make_decoder(2, scores={EOS: 20.0})
    run(BeamSearch(alone, options), make_sources(1), [9])
    assert alone.rows == [4] * (least + 1)
    beside.tables[1, :, EOS] = -50.0  # the other sentence does not end
    run(BeamSearch(beside, options), make_sources(2), [9, 9])
    assert beside.rows == [8] * (least + 1) + [4] * (8 - least)


def test_of_equal_hypotheses_the_lower_tokens_come_first(make_decoder: Make, make_sources: Sources) -> None:
    """If all tokens are equally likely, results are in the order of their ids."""
    decoder = make_decoder(1, scores=dict.fromkeys(range(60), 0.0))
    (found,) = run(BeamSearch(decoder, SearchOptions(4, 4)), make_sources(1), [2])
    assert [hypothesis.tokens for hypothesis in found] == [[3], [3, 3], [3, 4], [3, 5]]


def test_a_beam_wider_than_the_vocabulary_is_refused(make_decoder: Make, make_sources: Sources) -> None:
    """There are not enough tokens to fill the candidates, which is a clear error."""
    with pytest.raises(UnsupportedOptionError, match="vocabulary of 60"):
        run(BeamSearch(make_decoder(1), SearchOptions(40)), make_sources(1), [5])
