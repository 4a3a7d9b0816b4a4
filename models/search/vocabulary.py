"""From a model's scores to what search chooses from."""

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
    """The likeliest next token of each row, of equal ones the lowest, and its log-probability, (R,) each.

    By a kernel where there is one, else by torch; arguments as of `likeliest_by_torch`.
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
    """Of each row the likeliest next token, as `likeliest`; satisfies `models.kernels.choices.Choice`."""

    min_length: int
    """Tokens before the end of sentence."""

    def __call__(self, logits: Tensor, totals: Tensor, said: Tensor) -> Chosen:
        """The tokens, and their log-probabilities."""
        keep_short_from_ending(logits, said, self.min_length)
        fused = kernels_for(logits, ())
        if fused is not None:
            tokens, values = fused.likeliest(logits, (PAD, BOS))
        else:
            tokens, values = (each[:, 0] for each in likeliest_by_torch(logits.clone(), 1, (), ()))
        return Chosen((tokens[:, None], values[:, None]), tokens, totals)


def kernels_for(logits: Tensor, forbidden: Sequence[tuple[int, int]]) -> ModuleType | None:
    """What chooses on a GPU; nothing elsewhere, or where a row must not take some token: that is torch's."""
    if forbidden or not has_fused_kernels(logits.device):
        return None
    from models.kernels.gpu import continuations as fused  # noqa: PLC0415 - imports Triton

    return fused


def likeliest_by_torch(
    logits: Tensor, count: int, early: Sequence[int], forbidden: Sequence[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    """The likeliest next tokens of each row and their log-probabilities in float32, without waiting for the device.

    Below the minimum length the end of sentence has no probability and the others sum to one, as in CTranslate2.
    Padding and beginning of sentence are never generated; the others keep the probability that the model gives them.

    Args:
        logits: (R, V); overwritten. They are chosen from as they are: half as wide, they are read in half the time.
        count: tokens of each row; of equal ones the lowest, if it is one.
        early: rows that have not reached their minimum length.
        forbidden: rows, and a token of each that must not come next.

    Returns:
        Tokens and values, (R, `count`) each, the likeliest first.
    """
    keep_from_ending(logits, early)
    values = logits.log_softmax(-1, dtype=torch.float32)
    logits[:, PAD] = logits[:, BOS] = -float("inf")
    for row, token in forbidden:
        logits[row, token] = -float("inf")
    tokens = logits.argmax(-1, keepdim=True) if count == 1 else logits.topk(count).indices
    taken = logits.gather(1, tokens).isneginf()  # a row may have fewer that can be taken
    return tokens, values.gather(1, tokens).masked_fill(taken, -float("inf"))


def keep_from_ending(logits: Tensor, early: Sequence[int]) -> None:
    """Let some rows (R, V) go on with anything but the end of sentence."""
    if len(early) == len(logits):
        logits[:, EOS] = -float("inf")
    elif early:
        logits[:, EOS].index_fill_(0, _told(tuple(early), logits.device), -float("inf"))


def keep_short_from_ending(logits: Tensor, said: Tensor, min_length: int) -> None:
    """The same for rows (R, V) that have said fewer tokens, (R,), without telling the device which."""
    if min_length > 0:
        logits[:, EOS].masked_fill_(said < min_length, -float("inf"))


@lru_cache(maxsize=64)
def _told(rows: tuple[int, ...], device: torch.device) -> Tensor:
    """Rows on a device, which is told of them once: Python waits for that, and they are the same for many steps."""
    return torch.tensor(rows, device=device)
