"""Muon in numbers that the device is fast in: torch's own computes in bfloat16 always, which many CPUs only emulate."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import torch
from torch import Tensor
from torch.optim import Optimizer

from models.network.bfloat16 import computes_bfloat16
from models.training.distributed import World

MOMENTUM: Final = 0.95
COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Of the odd polynomial of degree five that drives singular values to between 0.7 and 1.2 (Jordan et al. 2024)."""
ITERATIONS: Final = 5
SMALLEST_NORM: Final = 1e-7


class Muon(Optimizer):
    """Moves each matrix by its Nesterov momentum made nearly orthogonal.

    Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks". It is scaled as by Liu et al. 2025,
    "Muon is scalable for LLM training", by 0.2 √max(rows, columns), to the size that Adam's steps have. The same as
    `torch.optim.Muon` with `adjust_lr_fn="match_rms_adamw"` and without weight decay, and what it remembers too.
    """

    def __init__(self, matrices: Iterable[Tensor] | Iterable[dict[str, Any]], world: World, lr: float = 1e-3) -> None:
        """Move `matrices`, each of two dimensions, or groups of them, as those of torch's optimisers.

        The processes of a run share each group out among them.
        """
        super().__init__(matrices, {"lr": lr})
        self._world: Final = world

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move the matrices that have a gradient, which is the same in all processes."""
        del closure  # other optimisers evaluate the loss anew
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
        """What the optimiser remembers of a matrix."""
        if "momentum_buffer" not in self.state[matrix]:
            self.state[matrix]["momentum_buffer"] = torch.zeros_like(matrix)
        momentum: Tensor = self.state[matrix]["momentum_buffer"]
        return momentum


def nearest_orthogonal(matrices: Tensor) -> Tensor:
    """Very roughly UVᵀ of each matrix USVᵀ, [matrices, rows, columns], by Newton and Schulz's iteration.

    A zero stays zero. In bfloat16 where the device multiplies in it, else in the matrices' own numbers.
    """
    a, b, c = COEFFICIENTS
    computed = matrices.bfloat16() if computes_bfloat16(matrices.device) else matrices
    is_wide = computed.size(1) <= computed.size(2)
    wide = computed if is_wide else computed.mT  # the products are of the short side
    wide = wide / torch.linalg.matrix_norm(wide, keepdim=True).clamp(min=SMALLEST_NORM)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return (wide if is_wide else wide.mT).to(matrices.dtype)


def _alike(matrices: Sequence[Tensor], indices: Iterable[int]) -> Iterable[list[int]]:
    """Those of the indices together whose matrices have one shape.

    A GPU takes them in one call; one by one, its time would be that of hundreds of calls.
    """
    found: dict[torch.Size, list[int]] = {}
    for index in indices:
        found.setdefault(matrices[index].shape, []).append(index)
    return found.values()
