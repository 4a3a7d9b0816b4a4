"""Linear layers in int8 on a CPU: weights with a scale for each output, activations with a scale for each row.

A row's result depends on no other row, to the bit: rounding happens before the product, and the product is exact. The
product is our own (`kernels.products`). Where the CPU has VNNI, which that makes no use of, it is FBGEMM's for many
rows (Khudia et al. 2021, "FBGEMM: Enabling High-Performance Low-Precision Deep Learning Inference"), through the one
operator of torch that quantizes, multiplies and gives floats with a scale that is known before. So rows are brought to
integers first, which it finds as they are.
"""

import sys
import warnings
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.network.kernels.dots import COLUMNS, STEP
from models.network.kernels.machine import LEVELS, has_vnni
from models.network.kernels.products import NOUGHT, finish, multiply, round_rows

Arrays = tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]
"""As `models.network.kernels.products.product` takes a layer."""

_fbgemm: Final = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op  # noqa: SLF001
"""Without the look at its arguments that costs as much as a small product does."""
_ZERO: Final = int(LEVELS) + 1
"""The integer that stands for nought in FBGEMM, which has none below it."""
_SMALL: Final = 2**23
"""Products of two numbers, up to which our own loop is done before FBGEMM has begun."""


class Int8Linear(nn.Module):
    """y = x W^T + b with both factors of the product rounded to 8 bits."""

    def __init__(self, layer: nn.Linear, *, fbgemm: bool = has_vnni()) -> None:
        """The same layer in int8.

        Args:
            layer: of floats.
            fbgemm: whether FBGEMM multiplies where rows are many.
        """
        super().__init__()
        weight = layer.weight.detach().float()
        scales = (weight.abs().amax(1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
        rounded = (weight / scales[:, None]).round().to(torch.int8)
        bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias.detach().float()
        filled = _filled_up(rounded.numpy())
        excess = NOUGHT * filled.sum(1, dtype=np.int32)
        self.arrays: Final[Arrays] = filled, excess, scales.numpy(), bias.numpy()
        self.few: Final = _SMALL // filled.size if fbgemm else sys.maxsize
        """Rows, up to which our own loop is the faster one."""
        self._packed = _pack(rounded, scales) if fbgemm else None
        self.out_features: Final = layer.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., out_features), float32."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        result = self._by_loop(rows) if rows.size(0) <= self.few else self._by_fbgemm(rows)
        return result.view(*x.shape[:-1], self.out_features)

    def _by_loop(self, rows: Tensor) -> Tensor:
        result = rows.new_empty(rows.size(0), self.out_features)
        multiply(rows.numpy(), self.arrays, result.numpy())
        return result

    def _by_fbgemm(self, rows: Tensor) -> Tensor:
        whole, units = torch.empty_like(rows), rows.new_empty(rows.size(0))
        round_rows(rows.numpy(), whole.numpy(), units.numpy())
        result: Tensor = _fbgemm(whole, 1.0, _ZERO, self._packed)
        finish(result.numpy(), units.numpy(), self.arrays[-1])
        return result


def _pack(weight: Tensor, scales: Tensor) -> object:
    """The kernel's own layout of an int8 matrix with a scale for each row."""
    zeros = torch.zeros(len(weight), dtype=torch.long)
    with warnings.catch_warnings():  # torch would rather see torchao's tensors, which have no such kernel
        warnings.simplefilter("ignore", category=UserWarning)
        quantized = torch._make_per_channel_quantized_tensor(weight, scales.double(), zeros, 0)  # noqa: SLF001
    return torch.ops.quantized.linear_prepack(quantized, None)


def _filled_up(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    """An int8 matrix with as many zeros more as our own loop wants."""
    return np.pad(weight, [(0, -len(weight) % COLUMNS), (0, -weight.shape[1] % STEP)])
