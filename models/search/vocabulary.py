"""From a model's scores to what search chooses from."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD


def log_probabilities(logits: Tensor, early: Sequence[int] = (), forbidden: Sequence[tuple[int, int]] = ()) -> Tensor:
    """Log-probabilities of the next token.

    Below the minimum length the end of sentence has no probability and the others sum to one, as in CTranslate2.
    Padding and beginning of sentence are never generated; the others keep the probability that the model gives them.

    Args:
        logits: (R, V); overwritten.
        early: rows that have not reached their minimum length.
        forbidden: rows, and a token of each that must not come next.

    Returns:
        (R, V).
    """
    if early:
        logits[early, EOS] = -float("inf")
    result = logits.log_softmax(-1)
    result[:, PAD] = result[:, BOS] = -float("inf")
    for row, token in forbidden:
        result[row, token] = -float("inf")
    return result


def most_likely(scores: Tensor) -> Tensor:
    """The best of each row (R, V), of equal ones the lowest: (R,)."""
    if scores.is_cuda:
        return scores.argmax(-1)
    return torch.from_numpy(scores.numpy().argmax(-1))  # ten times as fast as torch's
