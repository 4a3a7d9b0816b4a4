import pytest
import torch

from models.data.tokenizer import BOS, EOS, PAD
from models.search.vocabulary import likeliest, likeliest_by_torch, log_probabilities


def test_padding_and_beginning_of_sentence_are_never_generated() -> None:
    """However likely the model finds them."""
    logits = torch.zeros(1, 8)
    logits[0, [PAD, BOS]] = 100.0
    assert log_probabilities(logits)[0, [PAD, BOS]].tolist() == [-float("inf")] * 2


def test_the_others_keep_the_models_probability() -> None:
    """Forbidding a token does not change how a translation is scored."""
    logits = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    expected = logits.log_softmax(-1)
    assert torch.equal(log_probabilities(logits)[:, EOS:], expected[:, EOS:])


def test_a_translation_that_is_too_short_cannot_end() -> None:
    """Below the minimum length the end of sentence has no probability, from there on it has."""
    too_short, enough = log_probabilities(torch.zeros(2, 8), early=[0])[:, EOS]
    assert too_short == -float("inf")
    assert enough > -3


@pytest.mark.parametrize("vocabulary", [3, 30, 64, 129, 1000])
def test_both_ways_find_the_likeliest(vocabulary: int) -> None:
    """The kernel and torch: where it is the last, one of equal ones, forbidden, or would end a sentence too early."""
    logits = torch.randint(6, (40, vocabulary), generator=torch.Generator().manual_seed(vocabulary)).float()
    logits[0, EOS] = logits[1, -1] = logits[2, -1] = 9
    rules = [0, 3], [(1, vocabulary - 1), (4, int(logits[4].argmax()))]
    (tokens, values), (expected, theirs) = (way(logits.clone(), *rules) for way in (likeliest, likeliest_by_torch))
    assert torch.equal(values.isinf(), theirs.isinf())
    some = values.isfinite()
    assert torch.equal(tokens[some], expected[some])
    torch.testing.assert_close(values[some], theirs[some])


def test_what_is_no_number_is_not_made_one() -> None:
    """A model that gives none for a sentence leaves the others theirs, and its own score is none."""
    logits = torch.zeros(3, 100)
    logits[1, 50] = float("nan")
    tokens, values = likeliest(logits)
    assert values.isfinite().tolist() == [True, False, True]
    assert tokens.max() < 100
