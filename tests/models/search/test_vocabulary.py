import torch

from models.data.tokenizer import BOS, EOS, PAD
from models.search.vocabulary import log_probabilities


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
