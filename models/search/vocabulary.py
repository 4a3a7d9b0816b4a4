"""Choosing tokens from a model's scores, of which some may be forbidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD
from models.kernels import continuations
from models.kernels.choices import Chosen
from models.kernels.fused import has_fused_kernels


def likeliest(
    logits: Tensor, early: Sequence[int] = (), forbidden: Sequence[tuple[int, int]] = ()
) -> tuple[Tensor, Tensor]:
    """Return the likeliest next token of each row (the lowest of equals), and its log-probability, (R,) each.

    A kernel does this where there is one, else torch; arguments as for `likeliest_by_torch`.
    """
    fused = kernels_for(logits, forbidden)
    if fused is None and logits.device.type != "cpu":
        tokens, values = likeliest_by_torch(logits, 1, early, forbidden)
        return tokens[:, 0], values[:, 0]
    keep_from_ending(logits, early)
    if fused is not None:
        chosen: tuple[Tensor, Tensor] = fused.likeliest(logits, (PAD, BOS))
        return chosen
    return continuations.likeliest(logits, (PAD, BOS), forbidden)


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Chooses the likeliest next token of each row, like `likeliest`; satisfies `models.kernels.choices.Choice`."""

    min_length: int
    """The fewest tokens before the end of sentence."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """Return the tokens and, in `found`, the tokens with their log-probabilities."""
        keep_short_from_ending(logits, said, self.min_length)
        fused = kernels_for(logits, ())
        if fused is not None:
            tokens, values = fused.likeliest(logits, (PAD, BOS))
        else:
            tokens, values = (each[:, 0] for each in likeliest_by_torch(logits.clone(), 1, (), ()))
        return Chosen((tokens[:, None], values[:, None]), tokens, totals)


def kernels_for(logits: Tensor, forbidden: Sequence[tuple[int, int]]) -> ModuleType | None:
    """Return the GPU kernels that choose; None elsewhere, or if rows have forbidden tokens, which torch handles."""
    if forbidden or not has_fused_kernels(logits.device):
        return None
    from models.kernels.gpu import continuations as fused  # noqa: PLC0415 - imports Triton

    return fused


def likeliest_by_torch(
    logits: Tensor, count: int, early: Sequence[int], forbidden: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """Return the likeliest next tokens of each row and their float32 log-probabilities, without waiting for the device.

    Below the minimum length, the end of sentence has probability 0 and the others sum to one, as in CTranslate2.
    Padding and beginning of sentence are never generated, but the others keep the probability that the model gave them.

    Args:
        logits: (R, V); overwritten. Tokens are chosen in the logits' own type: half as wide, it is read twice as fast.
        count: how many tokens for each row; if it is 1, the lowest of equals is chosen.
        early: rows that have not reached their minimum length.
        forbidden: pairs of a row and a token that must not come next there.

    Returns:
        Tokens and values, (R, `count`) each, the likeliest first.
    """
    keep_from_ending(logits, early)
    values = logits.log_softmax(-1, dtype=torch.float32)
    logits[:, PAD] = logits[:, BOS] = -float("inf")
    for row, token in forbidden:
        logits[row, token] = -float("inf")
    tokens = logits.argmax(-1, keepdim=True) if count == 1 else logits.topk(count).indices
    taken = logits.gather(1, tokens).isneginf()  # a row may have fewer tokens that are allowed
    return tokens, values.gather(1, tokens).masked_fill(taken, -float("inf"))


def keep_from_ending(logits: Tensor, early: Sequence[int]) -> None:
    """Forbid the end of sentence in some rows (R, V)."""
    if len(early) == len(logits):
        logits[:, EOS] = -float("inf")
    elif early:
        logits[:, EOS].index_fill_(0, _told(tuple(early), logits.device), -float("inf"))


def keep_short_from_ending(logits: Tensor, said: Tensor, min_length: int) -> None:
    """Forbid it in rows (R, V) with fewer than `min_length` tokens; `said` (R,) is their number, on the device."""
    if min_length > 0:
        logits[:, EOS].masked_fill_(said < min_length, -float("inf"))


@lru_cache(maxsize=64)
def _told(rows: tuple[int, ...], device: torch.device) -> Tensor:
    """Return rows on a device; they are cached, since they recur in many steps and Python waits for the copy."""
    return torch.tensor(rows, device=device)
