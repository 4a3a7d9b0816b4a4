"""Building blocks of every network in this package but attention, which is in `models.network.attention`.

Shape letters, used throughout the package: B batch (sentences), N hypotheses per sentence, R = B x N rows,
S source length, T target length, C context length, D width, H heads, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.config import Activation, Norm

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swish": F.silu,
}


@dataclass(slots=True)
class Framed:
    """A sub-layer that can also be computed fused with its frame: the residual connection and norm around it."""

    bare: Callable[[Tensor], Tensor]
    inside: Callable[[Tensor, Any], Tensor | None]
    """Return None if it cannot fuse; the frame is whatever the code that prepared the sub-layer understands."""

    def __call__(self, x: Tensor) -> Tensor:
        """Compute the sub-layer alone."""
        return self.bare(x)


class FeedForward(nn.Module):
    """Position-wise feed-forward layer."""

    def __init__(self, width: int, inner: int, activation: Activation) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.outer(self.activation(self.inner(x)))

    def over(self, mask: Tensor) -> Callable[[Tensor], Tensor]:
        """Return this layer for sentences (B, S, D); it may skip padding, where `mask` (B, 1, 1, S) is false."""
        return self


class Gate(nn.Module):
    """g = sigmoid(W_i x + W_s y), one vector per position (Zhang et al. 2018, eq. 12)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.sentence = nn.Linear(width, width, bias=False)
        self.context = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the weight of the sentence stream x against the context y, both (B, S, D)."""
        return torch.sigmoid(self.sentence(x) + self.context(y))


class Residual(nn.Module):
    """A residual connection with dropout and a layer norm before (`pre`) or after (`post`) the sub-layer."""

    def __init__(self, width: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply `sublayer` to (..., D) inside the connection."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def final_norm(width: int, norm: Norm) -> nn.Module:
    """Return the norm that closes a pre-norm stack; a post-norm stack needs none."""
    return nn.LayerNorm(width) if norm == "pre" else nn.Identity()
