"""Linear layers in int8 on a CPU: weights with a scale for each output, activations with a scale for each row.

A row's result depends on no other row, to the bit: rounding happens before the product, and the product is exact.
"""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.kernels.dots import in_panels
from models.kernels.machine import VNNI
from models.kernels.products import NOUGHT, multiply

Arrays = tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32], int]
"""As `models.kernels.products.product` takes a layer."""


class Int8Linear(nn.Module):
    """y = x W^T + b with both factors of the product rounded to 8 bits."""

    def __init__(self, layer: nn.Linear) -> None:
        """The same layer in int8."""
        super().__init__()
        weight = layer.weight.detach().float()
        scales = (weight.abs().amax(1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
        rounded = (weight / scales[:, None]).round().to(torch.int8).numpy()
        bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias.detach().float()
        panels = in_panels(rounded, vnni=VNNI)
        missing = panels.shape[0] * panels.shape[2] - len(rounded)
        excess = np.pad(NOUGHT * rounded.sum(1, dtype=np.int32), (0, missing))
        floats = np.pad(scales.numpy(), (0, missing)), np.pad(bias.numpy(), (0, missing))
        self.arrays: Final[Arrays] = panels, excess, *floats, len(rounded)
        self.out_features: Final = layer.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., out_features), float32."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        result = rows.new_empty(rows.size(0), self.out_features)
        multiply(rows.numpy(), self.arrays, result.numpy())
        return result.view(*x.shape[:-1], self.out_features)
