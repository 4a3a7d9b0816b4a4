"""Cross-entropy on a GPU, in one pass per row; torch reads and writes tensors of the logits' size some ten times.

The logits are read once forward and once backward, where their gradient is written in the logits' own type; no other
tensor is as large.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-untyped, import-not-found"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Triton compiles has the types that it is called with

from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK: Final = 2048
"""Logits of a row that are read together."""


@triton.jit
def _losses_kernel(logits, to_row, vocabulary, expected, losses, totals, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = logits + row.to(tl.int64) * to_row
    inside = tl.arange(0, BLOCK)
    highest = -float("inf")
    total = 0.0
    added = 0.0
    for first in range(0, vocabulary, BLOCK):
        real = first + inside < vocabulary
        some = tl.load(at + first + inside, real, -float("inf")).to(tl.float32)
        above = tl.maximum(highest, tl.max(some, 0))
        total = total * tl.exp(highest - above) + tl.sum(tl.exp(some - above), 0)
        added += tl.sum(tl.where(real, some, 0.0), 0)
        highest = above
    all_of_them = highest + tl.log(total)
    right = tl.load(at + tl.load(expected + row)).to(tl.float32)
    tl.store(totals + row, all_of_them)
    tl.store(losses + row, all_of_them - (1 - smoothing) * right - smoothing * added / vocabulary)


@triton.jit
def _gradients_kernel(logits, to_row, vocabulary, expected, totals, scales, found, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = logits + row.to(tl.int64) * to_row
    into = found + row.to(tl.int64) * vocabulary
    inside = tl.arange(0, BLOCK)
    right = tl.load(expected + row)
    total = tl.load(totals + row)
    scale = tl.load(scales + row)
    for first in range(0, vocabulary, BLOCK):
        own = first + inside
        some = tl.load(at + own, own < vocabulary, 0.0).to(tl.float32)
        wanted = smoothing / vocabulary + tl.where(own == right, 1 - smoothing, 0.0)
        gradient = (tl.exp(some - total) - wanted) * scale
        tl.store(into + own, gradient.to(found.dtype.element_ty), own < vocabulary)


def losses(logits: Tensor, expected: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the losses of `models.training.cross_entropy` for logits (N, V), and the log-sum-exp of each row.

    The elements of a row must be contiguous.

    Returns:
        Both (N,), float32.
    """
    found = torch.empty(2, len(logits), dtype=torch.float32, device=logits.device)
    given = logits, logits.stride(0), logits.size(1), expected, found[0], found[1], smoothing
    _losses_kernel[(len(logits),)](*given, BLOCK=_BLOCK)
    return found[0], found[1]


def gradients(logits: Tensor, expected: Tensor, totals: Tensor, scales: Tensor, smoothing: float) -> Tensor:
    """Return the gradients (N, V) of the losses, each row times its scale (N,); `totals` are those of `losses`."""
    found = torch.empty_like(logits, memory_format=torch.contiguous_format)
    given = logits, logits.stride(0), logits.size(1), expected, totals, scales, found, smoothing
    _gradients_kernel[(len(logits),)](*given, BLOCK=_BLOCK)
    return found
