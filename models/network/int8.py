"""Linear layers in int8 on a CPU: weights with a scale for each output, activations with a scale for each row.

A row's result depends on no other row, to the bit: rounding happens before the product, and the product is exact.
The product is FBGEMM's (Khudia et al. 2021, "FBGEMM: Enabling High-Performance Low-Precision Deep Learning Inference"),
through the one operator of torch that quantizes, multiplies and gives floats with a scale that is known before. So
rows are brought to integers first, which it finds as they are. Products of few rows are our own (`kernels.products`).
"""

import warnings
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.network.kernels.dots import STEP
from models.network.kernels.products import COLUMNS, finish, multiply, round_rows

_fbgemm: Final = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default._op  # noqa: SLF001
"""Without the look at its arguments that costs as much as a small product does."""


def supports_int8() -> bool:
    """Whether FBGEMM has a kernel for this CPU: an x86 with AVX2."""
    return "x86" in torch.backends.quantized.supported_engines and bool(torch.cpu.get_capabilities().get("avx2"))


def has_vnni() -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits at once (AVX-512 VNNI)."""
    return bool(torch.cpu.get_capabilities().get("avx512_vnni"))


LEVELS: Final = np.float32(127 if has_vnni() else 63)
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
_ZERO: Final = int(LEVELS) + 1
"""The integer that stands for nought in FBGEMM, which has none below it."""
_SMALL: Final = 2**23
"""Products of two numbers, up to which our own loop is done before FBGEMM has begun."""


class Int8Linear(nn.Module):
    """y = x W^T + b with both factors of the product rounded to 8 bits."""

    def __init__(self, layer: nn.Linear) -> None:
        """The same layer in int8."""
        super().__init__()
        weight = layer.weight.detach().float()
        scales = (weight.abs().amax(1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
        rounded = (weight / scales[:, None]).round().to(torch.int8)
        self._packed = _pack(rounded, scales)
        bias = np.zeros(len(weight), np.float32) if layer.bias is None else layer.bias.detach().float().numpy()
        self.arrays: Final = _filled_up(rounded.numpy()), scales.numpy(), bias
        """As `models.network.kernels.products.product` takes a layer."""
        self.few: Final = _SMALL // self.arrays[0].size
        """Rows, up to which our own loop is faster."""
        self.out_features: Final = layer.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., out_features), float32."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        result = self._by_loop(rows) if 0 < rows.size(0) <= self.few else self._by_fbgemm(rows)
        return result.view(*x.shape[:-1], self.out_features)

    def _by_loop(self, rows: Tensor) -> Tensor:
        result = rows.new_empty(rows.size(0), self.out_features)
        multiply(rows.numpy(), LEVELS, self.arrays, result.numpy())
        return result

    def _by_fbgemm(self, rows: Tensor) -> Tensor:
        whole, units = torch.empty_like(rows), rows.new_empty(rows.size(0))
        round_rows(rows.numpy(), LEVELS, whole.numpy(), units.numpy())
        result: Tensor = _fbgemm(whole, 1.0, _ZERO, self._packed)
        finish(result.numpy(), units.numpy(), self.arrays[2])
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
