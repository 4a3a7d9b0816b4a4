"""From a model's scores to what search chooses from."""

from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD


def log_probabilities(logits: Tensor, length: int, min_length: int) -> Tensor:
    """Log-probabilities of the next token.

    Below the minimum length the end of sentence has no probability and the others sum to one, as in CTranslate2.
    Padding and beginning of sentence are never generated; the others keep the probability that the model gives them.

    Args:
        logits: (R, V); overwritten.
        length: tokens generated so far.
        min_length: tokens before the end of sentence.

    Returns:
        (R, V).
    """
    if length < min_length:
        logits[:, EOS] = -float("inf")
    result = logits.log_softmax(-1)
    result[:, [PAD, BOS]] = -float("inf")
    return result
