"""From a model's scores to what search chooses from."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from models.data.tokenizer import BOS, EOS, PAD

COLUMNS: Final = 1024
"""Of the table that a row of scores is searched as."""


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


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` highest of each row, highest first, of equal ones the lowest index first.

    On a GPU it is left open which of the ones that equal the last are taken: to look would be to wait for it.

    Args:
        scores: (B, X), with X over `count`.
        count: how many.

    Returns:
        Values and indices, each (B, count).
    """
    if scores.is_cuda:
        return _in_order(*scores.topk(count))
    values, indices = _highest(scores, count + 1)
    # topk leaves open which of equal values it takes, and in which order.
    for row in (values[:, 1:] == values[:, :-1]).any(-1).nonzero()[:, 0].tolist():
        among = (scores[row] >= values[row, -1]).nonzero()[:, 0]
        indices[row] = among[scores[row, among].argsort(descending=True, stable=True)[: count + 1]]
    return values[:, :count], indices[:, :count]


def _highest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """What topk gives, for long rows several times as fast: only the columns with the highest maxima can hold it."""
    rows, total = scores.shape
    height = total // COLUMNS
    if height < 2 or count > COLUMNS:
        return scores.topk(count)
    table = scores[:, : height * COLUMNS].view(rows, height, COLUMNS)
    columns = table.amax(1).topk(count).indices  # (B, count)
    inside = table.gather(2, columns[:, None].expand(-1, height, -1)).flatten(1)
    places = (torch.arange(height)[:, None] * COLUMNS + columns[:, None]).flatten(1)
    rest = torch.arange(height * COLUMNS, total).expand(rows, -1)
    values, found = torch.cat([inside, scores[:, height * COLUMNS :]], dim=1).topk(count)
    return values, torch.cat([places, rest], dim=1).gather(1, found)


def _in_order(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Highest values first, of equal ones the lowest index first."""
    by_index = indices.argsort(dim=-1)
    values, indices = values.gather(1, by_index), indices.gather(1, by_index)
    by_value = values.argsort(dim=-1, descending=True, stable=True)
    return values.gather(1, by_value), indices.gather(1, by_value)
