"""From a model's scores to what search chooses from."""

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD
from models.kernels import continuations


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
    keep_from_ending(logits, early)
    result = logits.log_softmax(-1)
    result[:, PAD] = result[:, BOS] = -float("inf")
    for row, token in forbidden:
        result[row, token] = -float("inf")
    return result


def likeliest(
    logits: Tensor, early: Sequence[int] = (), forbidden: Sequence[tuple[int, int]] = ()
) -> tuple[Tensor, Tensor]:
    """The likeliest next token of each row, of equal ones the lowest, and its log-probability, (R,) each.

    On a CPU by a kernel, elsewhere by torch; arguments as of `log_probabilities`.
    """
    if logits.device.type != "cpu":
        return likeliest_by_torch(logits, early, forbidden)
    keep_from_ending(logits, early)
    return continuations.likeliest(logits, (PAD, BOS), forbidden)


def likeliest_by_torch(
    logits: Tensor, early: Sequence[int], forbidden: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """The same without waiting for the device."""
    scores = log_probabilities(logits, early, forbidden)
    tokens = scores.argmax(-1)
    return tokens, scores.gather(1, tokens[:, None])[:, 0]


def keep_from_ending(logits: Tensor, early: Sequence[int]) -> None:
    """Let some rows (R, V) go on with anything but the end of sentence."""
    if len(early) == len(logits):
        logits[:, EOS] = -float("inf")
    elif early:
        logits[:, EOS].index_fill_(0, _told(tuple(early), logits.device), -float("inf"))


@lru_cache(maxsize=64)
def _told(rows: tuple[int, ...], device: torch.device) -> Tensor:
    """Rows on a device, which is told of them once: Python waits for that, and they are the same for many steps."""
    return torch.tensor(rows, device=device)
