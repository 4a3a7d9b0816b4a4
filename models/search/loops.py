"""The guard against loops: a model that begins to say the same again and again would go on to the maximum length."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

LONGEST: Final = 16
"""Tokens of an n-gram whose repetitions are looked for."""
COPIES: Final = 4
"""Of an n-gram in a row that are always let through."""


def continues_loop(tokens: Sequence[int], most: int | None) -> int | None:
    """The token that would begin one more copy of an n-gram which has been said too often in a row.

    Args:
        tokens: of a hypothesis so far.
        most: tokens that an n-gram may fill in a row; four copies of it are let through in any case. None: any number.

    Returns:
        The token that must not come next; None if any may.
    """
    if most is None or len(tokens) < most or tokens[-1] not in tokens[-1 - LONGEST : -1]:
        return None
    for n in range(1, LONGEST + 1):
        filled = n * max(COPIES, -(-most // n))
        if len(tokens) >= filled and tokens[-filled:-n] == tokens[n - filled :]:
            return tokens[-n]
    return None


def may_continue_loops(history: Tensor) -> list[int]:
    """Rows of tokens (R, T) whose last one stands as often before, at equal distances, as it does in every loop.

    For all rows at once; `continues_loop` then says of these few whether they are in one.
    """
    width = history.size(1)
    longest = min(LONGEST, (width - 1) // (COPIES - 1))
    if longest < 1:
        return []
    back = torch.arange(1, longest + 1, device=history.device)[:, None] * torch.arange(1, COPIES, device=history.device)
    earlier = history[:, width - 1 - back]  # (R, longest, COPIES - 1)
    found: list[int] = earlier.eq(history[:, -1, None, None]).all(-1).any(-1).nonzero()[:, 0].tolist()
    return found
