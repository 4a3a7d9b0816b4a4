"""Muon in the number format that the device is fast in: torch's own always uses bfloat16, which many CPUs emulate."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.optim import Optimizer

from models.network.bfloat16 import computes_bfloat16
from models.training.distributed import World

MOMENTUM: Final = 0.95
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Coefficients of the odd quintic that drives singular values to between 0.7 and 1.2 (Jordan et al. 2024)."""
ITERATIONS: Final = 5
SMALLEST_NORM: Final = 1e-7


class Muon(Optimizer):
    """Optimiser that moves each matrix by its Nesterov momentum, made nearly orthogonal.

    From Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks". Steps are scaled by
    0.2 √max(rows, columns), to the size of Adam's, as in Liu et al. 2025, "Muon is scalable for LLM training". Equal to
    `torch.optim.Muon` with `adjust_lr_fn="match_rms_adamw"` and without weight decay, with the same state.
    """

    def __init__(self, matrices: Iterable[Tensor] | Iterable[dict[str, Any]], world: World, lr: float = 1e-3) -> None:
        """Move `matrices`, all two-dimensional, or groups of them as in torch's optimisers.

        The processes of a run divide each group among themselves.
        """
        super().__init__(matrices, {"lr": lr})
        self._world: Final = world

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move the matrices that have a gradient, which must be the same in all processes."""
        del closure  # for other optimisers, to re-evaluate the loss
        for group in self.param_groups:
            matrices = [matrix for matrix in group["params"] if matrix.grad is not None]
            momenta = [self._momentum(matrix).lerp_(matrix.grad, 1 - MOMENTUM) for matrix in matrices]
            directions = [torch.zeros_like(matrix) for matrix in matrices]
            for alike in _alike(matrices, range(self._world.rank, len(matrices), self._world.size)):
                nesterov = [matrices[index].grad.lerp(momenta[index], MOMENTUM) for index in alike]
                found = nearest_orthogonal(torch.stack(nesterov))
                for index, direction in zip(alike, found, strict=True):
                    directions[index] = direction
            self._world.sum_tensors(directions)
            for matrix, direction in zip(matrices, directions, strict=True):
                matrix.add_(direction, alpha=-group["lr"] * 0.2 * max(matrix.shape) ** 0.5)

    def _momentum(self, matrix: Tensor) -> Tensor:
        """Return the momentum of a matrix."""
        if "momentum_buffer" not in self.state[matrix]:
            self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
        momentum: Tensor = self.state[matrix]["momentum_buffer"]
        return momentum


def nearest_orthogonal(matrices: Tensor) -> Tensor:
    """Approximate, very roughly, UVᵀ of each matrix USVᵀ, [matrices, rows, columns], by Newton-Schulz iteration.

    Zero stays zero. Computes in bfloat16 where the device multiplies in it, otherwise in the matrices' own type.
    """
    a, b, c = COEFFICIENTS
    computed = matrices.bfloat16() if computes_bfloat16(matrices.device) else matrices
    is_wide = computed.size(1) <= computed.size(2)
    wide = computed if is_wide else computed.mT  # products have the size of the short side
    wide = wide / torch.linalg.matrix_norm(wide, keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return (wide if is_wide else wide.mT).to(matrices.dtype)


def _alike(matrices: Sequence[Tensor], indices: Iterable[int]) -> Iterable[list[int]]:
    """Group indices by the shape of their matrices.

    A GPU then processes a group in one call; one by one, the time would be that of hundreds of calls.
    """
    found: dict[torch.Size, list[int]] = {}
    for index in indices:
        found.setdefault(matrices[index].shape, []).append(index)
    return found.values()
