"""Cross-entropy over a vocabulary, computed a few rows at a time.

torch's own, with label smoothing, makes some ten passes, forward and backward, over tensors of the size of all logits,
each time from memory: a sixth of a small model's time per update. Here rows go through all passes while they are in
the processor's cache; a GPU has its own kernels (`models.kernels.gpu.cross_entropy`).
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from models.kernels.fused import has_fused_losses

_AT_ONCE: Final = {"cpu": 1 << 18, "cuda": 1 << 28}
"""Logits processed at a time, by device: what fits into a core's cache, or into a GPU's memory."""


def cross_entropy(logits: Tensor, expected: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Return minus the log-probability of each expected class, in nats; in float32 at least, whatever the logits' type.

    Args:
        logits: (N, V).
        expected: (N,), classes.
        label_smoothing: probability mass e spread over all classes (Szegedy et al. 2016):
            -(1 - e) log p_expected - e/V sum_v log p_v.

    Returns:
        (N,).
    """
    losses: Tensor = _CrossEntropy.apply(logits, expected, label_smoothing)  # type: ignore[no-untyped-call]
    return losses


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, logits: Tensor, expected: Tensor, smoothing: float) -> Tensor:  # noqa: ANN401
        fused = _kernels_for(logits)
        losses, totals = (_losses if fused is None else fused.losses)(logits, expected, smoothing)
        context.save_for_backward(logits, expected, totals)
        context.smoothing, context.fused = smoothing, fused
        return losses

    @staticmethod
    @once_differentiable
    def backward(context: Any, scales: Tensor) -> tuple[Tensor, None, None]:  # noqa: ANN401
        logits, expected, totals = context.saved_tensors
        gradients = _gradients if context.fused is None else context.fused.gradients
        return gradients(logits, expected, totals, scales.contiguous(), context.smoothing), None, None


def _kernels_for(logits: Tensor) -> ModuleType | None:
    """Return the GPU kernels for losses and gradients, which compute in float32, or None if they cannot be used."""
    if logits.dtype == torch.float64 or not logits.is_contiguous() or not has_fused_losses(logits.device):
        return None
    from models.kernels.gpu import cross_entropy as fused  # noqa: PLC0415 - imports Triton

    return fused


def _losses(logits: Tensor, expected: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the losses, and log sum exp of each row."""
    totals = torch.empty(len(logits), dtype=_computed_in(logits), device=logits.device)
    losses = torch.empty_like(totals)
    for rows, some in _pieces(logits):
        totals[rows] = some.logsumexp(1)
        losses[rows] = totals[rows] - (1 - smoothing) * some.gather(1, expected[rows, None])[:, 0]
        if smoothing:
            losses[rows] -= smoothing * some.mean(1)
    return losses, totals


def _gradients(logits: Tensor, expected: Tensor, totals: Tensor, scales: Tensor, smoothing: float) -> Tensor:
    """Return the softmax of the logits minus the smoothed target, each row times its scale."""
    result = torch.empty_like(logits)
    for rows, some in _pieces(logits):
        found = some.sub_(totals[rows, None]).exp_()
        found -= smoothing / logits.size(1)
        found.scatter_add_(1, expected[rows, None], found.new_full((len(found), 1), smoothing - 1))
        result[rows] = found.mul_(scales[rows, None])
    return result


def _computed_in(logits: Tensor) -> torch.dtype:
    return torch.promote_types(logits.dtype, torch.float32)


def _pieces(logits: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield a few rows of the logits at a time, with a copy of them to compute in."""
    count = max(1, _AT_ONCE[logits.device.type] // logits.size(1))
    for top in range(0, len(logits), count):
        rows = slice(top, top + count)
        yield rows, logits[rows].to(_computed_in(logits), copy=True)
