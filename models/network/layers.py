"""The parts that every network here is made of.

Shape letters, used through the whole package: B batch (sentences), N hypotheses a sentence, R = B x N rows,
S source length, T target length, C context length, D width, H heads, V vocabulary.
"""

import math
from collections.abc import Callable

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


def sinusoidal_positions(length: int, width: int, first: int = 1) -> Tensor:
    """Position table of CTranslate2 and tensor2tensor: [sin | cos] with width/2 - 1 timescales, positions from `first`.

    Returns:
        (length, width), float32.
    """
    half = width // 2
    timescales = torch.exp(torch.arange(half) * (-math.log(10000.0) / max(half - 1, 1)))
    angles = torch.arange(first, first + length)[:, None] * timescales[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2) with its four projections.

    `memory_width` is the width of what is attended to, `inner` that of all heads together; both are `width` if not
    given.
    """

    def __init__(
        self, width: int, heads: int, memory_width: int | None = None, *, inner: int | None = None, bias: bool = True
    ) -> None:
        super().__init__()
        inner = inner or width
        self.heads = heads
        self.query = nn.Linear(width, inner, bias)
        self.key_value = nn.Linear(memory_width or width, 2 * inner, bias)
        self.output = nn.Linear(inner, width, bias)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project what is attended to.

        Args:
            memory: (B, S, D).

        Returns:
            Keys and values, each (B, H, S, D/H).
        """
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self._split(keys), self._split(values)

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        """Attend; the N hypotheses of a sentence share its keys, so nothing is ever copied for them.

        Args:
            x: (R, T, D), with R a multiple of the B of the keys.
            keys: (B, H, S, D/H).
            values: (B, H, S, D/H).
            mask: broadcastable to (B, 1, N x T, S); true where a key may be seen.
            causal: query t sees keys 0..t (for equally long queries and keys).

        Returns:
            (R, T, D).
        """
        queries = self._queries(x, keys)
        mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, is_causal=causal)
        return self.output(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """What `forward` mixes the values by, (B, H, N x T, S); only for looking at, arguments as there."""
        scores = self._queries(x, keys) @ keys.transpose(2, 3) / math.sqrt(keys.size(-1))
        return scores.masked_fill(~mask, -math.inf).softmax(-1)

    def over_itself(self, mask: Tensor) -> Callable[[Tensor], Tensor]:
        """Self-attention under `mask` as a function of (B, S, D)."""
        return lambda x: self.forward(x, *self.keys_values(x), mask)

    def _queries(self, x: Tensor, keys: Tensor) -> Tensor:
        """(B, H, N x T, D/H)."""
        queries = self.query(x)
        return self._split(queries.reshape(keys.size(0), -1, queries.size(-1)))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


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


class Residual(nn.Module):
    """A residual connection with its layer norm, before (`pre`) or after (`post`) the sub-layer, and dropout."""

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
    """The norm that closes a pre-norm stack; a post-norm stack needs none."""
    return nn.LayerNorm(width) if norm == "pre" else nn.Identity()


def padding_mask(tokens: Tensor, pad: int) -> Tensor:
    """Mask for attention to `tokens` (B, S): (B, 1, 1, S), true at real tokens."""
    return tokens.ne(pad)[:, None, None, :]
