"""Linear layers in int8 on a CPU: weights with a scale per output, activations with a scale per row.

A row's result depends on no other row, to the bit: values are rounded before the product, and the product is exact.
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
"""A layer in the form that `models.kernels.products.product` takes."""


def round_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Round a float matrix to int8; return it with the scale of each row, in float32.

    Rounding their product again gives the same integers and scales, to the bit: a scale is a float divided by 127, and
    127 times it, rounded to a float, divided by 127 gives it again. A row that contains NaN or infinity gets NaN or
    infinity as its scale.
    """
    matrix = matrix.float()
    scales = (matrix.abs().amax(1) / 127).clamp_min(torch.finfo(torch.float32).tiny)
    return (matrix / scales[:, None]).round().to(torch.int8), scales


class Int8Linear(nn.Module):
    """y = x W^T + b with both factors of the product rounded to 8 bits."""

    def __init__(self, layer: nn.Linear) -> None:
        """Convert `layer` to int8."""
        super().__init__()
        matrix, scales = round_rows(layer.weight.detach())
        rounded = matrix.numpy()
        bias = torch.zeros(len(rounded)) if layer.bias is None else layer.bias.detach().float()
        panels = in_panels(rounded, vnni=VNNI)
        missing = panels.shape[0] * panels.shape[2] - len(rounded)
        starts = np.pad(-NOUGHT * rounded.sum(1, dtype=np.int32), (0, missing))
        floats = np.pad(scales.numpy(), (0, missing)), np.pad(bias.numpy(), (0, missing))
        self.arrays: Final[Arrays] = panels, starts, *floats, len(rounded)
        self.out_features: Final = layer.out_features

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., out_features), float32."""
        rows = x.reshape(-1, x.size(-1)).contiguous()
        result = rows.new_empty(rows.size(0), self.out_features)
        multiply(rows.numpy(), self.arrays, result.numpy())
        return result.view(*x.shape[:-1], self.out_features)
