"""The parts that every network here is made of.

Shape letters, used through the whole package: B batch (sentences), N hypotheses a sentence, R = B x N rows,
S source length, T target length, C context length, D width, H heads, V vocabulary.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.config import Activation, Norm
from models.kernels.norms import NO_FRAME, Frame

# On recent GPUs torch would take cuDNN's attention, which makes a plan for every new shape; each batch has another.
torch.backends.cuda.enable_cudnn_sdp(enabled=False)

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "swish": F.silu,
}


class AttentionKernel(Protocol):
    """What computes attention in inference in place of torch; `inference.int8_sublayers.Int8Attention`."""

    keeps: torch.dtype
    """Of the keys and values that are read at each step; as it has them, not as numbers of that type."""

    def kept(self, keys: Tensor) -> Tensor:
        """Keys or values as they are kept."""

    def known(self, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both of (B, S, D) as they are kept, each (B, H, S, D/H)."""

    def floats(self, kept: Tensor) -> Tensor:
        """Them as numbers again."""

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool, columns: Tensor | None
    ) -> Tensor:
        """Attention alone, without projections: `models.kernels.attention.attend`."""

    def attend_fixed(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: Frame = NO_FRAME
    ) -> Tensor:
        """As `Attention.forward`, in a frame."""

    def attend_itself(self, x: Tensor, mask: Tensor, frame: Frame) -> Tensor:
        """Self-attention (B, S, D) of whole sentences, in a frame; padding is left out."""

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int,
        columns: Tensor,
        unseen: Tensor | None,
        frame: Frame,
    ) -> Tensor:
        """Self-attention (R, 1, D) of one more word each to itself and the past, to which it is added, in a frame."""


class StepKernel(Protocol):
    """What computes attention of one word a row on a GPU; `inference.fused_sublayers.FusedAttention`.

    A frame here is the norm of a residual connection that has it before the sub-layer.
    """

    def mix(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Attention alone, (R, 1, D), of queries (R, 1, D), without projections; others as in `Attention.mix`."""

    def attend_fixed(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: nn.LayerNorm) -> Tensor:
        """As `Attention.forward`, of x (R, 1, D), in a frame."""

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int | Tensor,
        columns: Tensor,
        starts: Tensor | None,
        frame: nn.LayerNorm | None,
    ) -> Tensor:
        """Self-attention (R, 1, D) of one more word each to itself and the past, to which it is added, in a frame."""


@dataclass(slots=True)
class Framed:
    """A sub-layer that can also be computed together with what stands around it."""

    bare: Callable[[Tensor], Tensor]
    inside: Callable[[Tensor, Any], Tensor | None]
    """Gives nothing where it cannot. The frame is what those understand who have made the sub-layer ready."""

    def __call__(self, x: Tensor) -> Tensor:
        """The sub-layer alone."""
        return self.bare(x)


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
        self.joined: nn.Module | None = None
        """Query and key_value as one, where inference has joined them."""
        self.kernel: AttentionKernel | None = None
        """What computes attention in inference, if not torch."""
        self.step: StepKernel | None = None
        """What computes it there of one word a row, if not torch."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project what is attended to.

        Args:
            memory: (B, S, D).

        Returns:
            Keys and values, each (B, H, S, D/H).
        """
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self.split(keys), self.split(values)

    def known(self, memory: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The same as they are kept to be read at each step: a kernel may want less of each number.

        Args:
            memory: (B, S, D).
            mask: (B, 1, 1, S); false where there is padding, which need not be projected.

        Returns:
            Keys and values, each (B, H, S, D/H).
        """
        return self.keys_values(memory) if self.kernel is None else self.kernel.known(memory, mask)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of self-attention, each (B, S, D), the heads side by side."""
        if self.joined is not None:
            queries, keys, values = self.joined(x).chunk(3, dim=-1)
        else:
            queries = self.query(x)
            keys, values = self.key_value(x).chunk(2, dim=-1)
        return queries, keys, values

    def split(self, x: Tensor) -> Tensor:
        """(B, S, D) by heads, (B, H, S, D/H)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, *, causal: bool = False
    ) -> Tensor:
        """Attend from x (R, T, D); others, and the result, as in `mix`."""
        if self.kernel is not None and not causal:
            return self.kernel.attend_fixed(x, keys, values, mask)
        return self.mix(self.query(x), keys, values, mask, causal=causal)

    def mix(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        columns: Tensor | None = None,
    ) -> Tensor:
        """Attend; the N hypotheses of a sentence share its keys, so nothing is ever copied for them.

        Args:
            queries: (R, T, D), with R a multiple of the B of the keys.
            keys: (B, H, S, D/H).
            values: (B, H, S, D/H).
            mask: (B, 1, 1, S); true where a key may be seen, or what is added to the scores.
            causal: the last query sees all keys, each before it one less; without a mask.
            columns: (R, S or more) where the keys and values of each row are, for a `kernel` that can look there.

        Returns:
            (R, T, D).
        """
        folded = self._fold(queries, keys.size(0) if columns is None else columns.size(0))
        if self.kernel is not None:
            mixed = self.kernel.mix(folded, keys, values, additive(mask, folded.dtype), causal, columns)
        elif self.step is not None and queries.size(1) == 1:
            mixed = self.step.mix(queries, keys, values, mask)
        elif _in_products(queries):
            mixed = _look_up(folded, keys, values, mask, causal=causal)
        else:
            mixed = _look_up_at_once(folded, keys, values, mask, causal=causal)
        output: Tensor = self.output(mixed.reshape(queries.shape))
        return output

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """What `forward` mixes the values by, (B, H, N x T, S); only for looking at, arguments as there."""
        keys = keys if self.kernel is None else self.kernel.floats(keys)
        scores = self._fold(self.query(x), keys.size(0)) @ keys.transpose(2, 3) / math.sqrt(keys.size(-1))
        return scores.masked_fill(~mask, -math.inf).softmax(-1)

    def over_itself(self, mask: Tensor) -> Callable[[Tensor], Tensor]:
        """Self-attention of sentences (B, S, D) as a function; `mask` (B, 1, 1, S) is false where there is padding."""

        def attend(x: Tensor) -> Tensor:
            queries, keys, values = self.project(x)
            return self.mix(queries, self.split(keys), self.split(values), mask)

        if self.kernel is None or self.joined is None:
            return attend
        kernel = self.kernel
        return Framed(attend, lambda x, frame: kernel.attend_itself(x, mask, frame))

    def _fold(self, queries: Tensor, sentences: int) -> Tensor:
        """Those of all hypotheses of a sentence together, (B, H, N x T, D/H)."""
        return self.split(queries.reshape(sentences, -1, queries.size(-1)))


def _in_products(queries: Tensor) -> bool:
    """Whether two products are faster than torch's fused kernels: for one query, and, on a CPU, in training."""
    if torch.is_grad_enabled():
        return queries.device.type == "cpu"
    return queries.size(1) == 1


def _look_up_at_once(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """Attention of queries (B, H, N, D/H), (B, N, H, D/H)."""
    count, total = queries.size(2), keys.size(2)
    if causal and count < total:
        causal, mask = False, _not_after(count, total, keys.device)
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, is_causal=causal)
    return mixed.transpose(1, 2)


def _look_up(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """The same by two products; in mixed precision the scores are rounded to it before their softmax."""
    batch, heads, count, width = queries.shape
    scores = torch.baddbmm(
        queries.new_empty(()),
        queries.reshape(batch * heads, count, width),
        keys.flatten(0, 1).transpose(1, 2),
        beta=0,
        alpha=width**-0.5,
    )
    if causal and count > 1:
        mask = _not_after(count, keys.size(2), keys.device)
    if mask is not None:
        scores.view(batch, heads, count, -1).add_(additive(mask, scores.dtype))
    mixed = torch.bmm(scores.softmax(-1), values.flatten(0, 1))
    return mixed.view(batch, heads, count, width).transpose(1, 2)


def _not_after(count: int, total: int, device: torch.device) -> Tensor:
    """Mask (N, S) of the last queries, each of which sees the keys up to its own."""
    return torch.ones(count, total, dtype=torch.bool, device=device).tril(total - count)


@overload
def additive(mask: Tensor, dtype: torch.dtype) -> Tensor: ...
@overload
def additive(mask: None, dtype: torch.dtype) -> None: ...
def additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A mask as what is added to attention's scores; one that is that already, or none, is given back.

    Not minus infinity: where nothing may be seen, the result is any number, but a number.
    """
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, torch.finfo(dtype).min / 2)


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
        """This layer over sentences (B, S, D), which need not compute padding: `mask` (B, 1, 1, S) is false there."""
        return self


class Gate(nn.Module):
    """g = sigmoid(W_i x + W_s y), a vector for each position (Zhang et al. 2018, eq. 12)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.sentence = nn.Linear(width, width, bias=False)
        self.context = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Weight of the sentence stream x against the context y, both (B, S, D)."""
        return torch.sigmoid(self.sentence(x) + self.context(y))


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
