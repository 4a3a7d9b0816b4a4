"""A step of search: the likeliest next token, or a beam's best continuations without a table of all of them."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Numba compiles has the types that it is called with

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.errors import UnsupportedOptionError
from models.kernels.compiled import compiled, inlined, part
from models.kernels.reductions import largest, total_of_exponentials
from models.kernels.views import tail

Tokens = tuple[int, int]
_BLOCK: Final = 64
"""Tokens in a block; a block is searched only if its best token is good enough."""


def unpacked(packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split one int32 tensor into log-probabilities (float32), the hypotheses that are continued, and tokens."""
    return packed[0].view(torch.float32), packed[1], packed[2]


def require_choice(vocabulary: int, size: int) -> None:
    """Require enough continuations for a beam of this size, even if some tokens are forbidden.

    Raises:
        UnsupportedOptionError: there are not.
    """
    if vocabulary < 2 * size + 4:
        raise UnsupportedOptionError(f"a vocabulary of {vocabulary} tokens is too small for beam {size}")


def choose(
    logits: Tensor, totals: Tensor, never: Tokens, forbidden: Sequence[tuple[int, int]], end: int
) -> tuple[Tensor, Tensor]:
    """Return the 2N best continuations of N hypotheses, and the N of them that go on.

    Args:
        logits: (B x N, V), float32, for the next token; overwritten.
        totals: (B, N), float32: log-probabilities of the hypotheses so far; see `require_choice`.
        never: tokens that are never chosen; they still count in the sum of probabilities.
        forbidden: pairs of a row and a token that is not chosen there.
        end: the token that ends a sentence.

    Returns:
        (3, B, 2N), best first, with ties going to the lowest hypothesis and token number; and (3, B, N), the first N of
        them, where each that ends is replaced by the next that does not. For the format, see `unpacked`.
    """
    sentences, size = totals.shape
    best, going = (np.empty((3, sentences, count), np.int32) for count in (2 * size, size))
    given = logits.contiguous().numpy(), totals.contiguous().numpy(), never, _pairs(forbidden), end
    _choose_kernel(*given, best[0].view(np.float32), *best[1:], going[0].view(np.float32), *going[1:])
    return torch.from_numpy(best), torch.from_numpy(going)


def likeliest(logits: Tensor, never: Tokens, forbidden: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Return the likeliest next token of each row (the lowest of equals), and its log-probability.

    Args:
        logits: (R, V), float32; overwritten.
        never: as for `choose`.
        forbidden: as for `choose`.

    Returns:
        (R,) each.
    """
    tokens, values = np.zeros(len(logits), np.int64), np.empty(len(logits), np.float32)
    _likeliest_kernel(logits.contiguous().numpy(), never, _pairs(forbidden), tokens, values)
    return torch.from_numpy(tokens), torch.from_numpy(values)


def _pairs(forbidden: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(forbidden, np.int64).reshape(-1, 2)


def _choose(logits, totals, never, forbidden, end, scores, origins, tokens, going_scores, going_origins, going_tokens):
    size = totals.shape[1]
    for b in range(len(totals)):
        found = 0
        for k in range(size):
            row = logits[b * size + k]
            most, rest = _normalize(row)
            _hide(row, b * size + k, never, forbidden)
            found = _take(row, most, rest, totals[b, k], k, scores[b], origins[b], tokens[b], found)
        spare = size
        for n in range(size):
            taken = n
            if tokens[b, n] == end:
                while tokens[b, spare] == end:
                    spare += 1
                taken = spare
                spare += 1
            going_scores[b, n] = scores[b, taken]
            going_origins[b, n] = origins[b, taken]
            going_tokens[b, n] = tokens[b, taken]


def _likeliest(logits, never, forbidden, tokens, values):
    for r in range(len(logits)):
        row = logits[r]
        most, rest = _normalize(row)
        _hide(row, r, never, forbidden)
        best = largest(row, len(row))
        while tokens[r] + _BLOCK < len(row) and not largest(tail(row, tokens[r]), _BLOCK) >= best:
            tokens[r] += _BLOCK
        while tokens[r] + 1 < len(row) and not row[tokens[r]] >= best:
            tokens[r] += 1
        values[r] = (best - most) - rest


@inlined
def _normalize(row):
    """Return the largest logit, and the logarithm of the sum of exponentials once it is subtracted from all."""
    most = largest(row, len(row))
    return most, np.log(total_of_exponentials(row, len(row), most))


@inlined
def _hide(row, number, never, forbidden):
    """Keep the tokens that may not be chosen from being chosen."""
    for token in never:
        row[token] = -np.inf
    for f in range(len(forbidden)):
        if forbidden[f, 0] == number:
            row[forbidden[f, 1]] = -np.inf


@inlined
def _take(row, most, rest, before, origin, scores, origins, tokens, found):
    """Insert a hypothesis's continuations into the best, of which `found` exist; return how many exist then."""
    for first in range(0, len(row), _BLOCK):
        count = min(_BLOCK, len(row) - first)
        if found == len(scores) and not (largest(tail(row, first), count) - most) - rest + before > scores[-1]:
            continue
        for token in range(first, first + count):
            score = (row[token] - most) - rest + before
            if found < len(scores):
                found += 1
            elif not score > scores[-1]:
                continue
            place = found - 1
            while place > 0 and scores[place - 1] < score:
                scores[place], origins[place], tokens[place] = scores[place - 1], origins[place - 1], tokens[place - 1]
                place -= 1
            scores[place], origins[place], tokens[place] = score, origin, token
    return found


_choose_kernel: Final = compiled(_choose)
_likeliest_kernel: Final = compiled(_likeliest)
choose_part: Final = part(_choose)
likeliest_part: Final = part(_likeliest)
"""The same for functions that are compiled themselves (`stretches`)."""
