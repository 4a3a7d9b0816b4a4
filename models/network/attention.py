"""Multi-head attention, and the kernels that may compute it in inference.

Shape letters as in `models.network.layers`.
"""

import math
from collections.abc import Callable
from typing import Protocol, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.kernels.norms import NO_FRAME, Frame
from models.network.layers import Framed

# On recent GPUs torch would pick cuDNN's attention, which builds a plan for every new shape; each batch has another.
torch.backends.cuda.enable_cudnn_sdp(enabled=False)


class AttentionKernel(Protocol):
    """Replacement for torch's attention in inference; see `inference.int8_sublayers.Int8Attention`."""

    keeps: torch.dtype
    """Storage type of the cached keys and values; their bits are not numbers of that type."""

    def kept(self, keys: Tensor) -> Tensor:
        """Convert keys or values to their cached form."""

    def known(self, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Project (B, S, D) to keys and values in cached form, each (B, H, S, D/H)."""

    def floats(self, kept: Tensor) -> Tensor:
        """Convert cached keys or values back to numbers."""

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool, columns: Tensor | None
    ) -> Tensor:
        """Attend without projections; see `models.kernels.attention.attend`."""

    def attend_fixed(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: Frame = NO_FRAME
    ) -> Tensor:
        """Attend like `Attention.forward`, in a frame."""

    def attend_itself(self, x: Tensor, mask: Tensor, frame: Frame) -> Tensor:
        """Compute self-attention (B, S, D) of whole sentences, in a frame; padding is skipped."""

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int,
        columns: Tensor,
        unseen: Tensor | None,
        frame: Frame,
    ) -> Tensor:
        """Compute self-attention (R, 1, D) of one new word per row, which is added to the past, in a frame."""


class StepKernel(Protocol):
    """Attention of one word per row on a GPU; see `inference.fused_sublayers.FusedAttention`.

    A frame here is the norm of a pre-norm residual connection.
    """

    def mix(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Attend, (R, 1, D), from queries (R, 1, D), without projections; other arguments as in `Attention.mix`."""

    def attend_fixed(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: nn.LayerNorm) -> Tensor:
        """Attend like `Attention.forward`, from x (R, 1, D), in a frame."""

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int | Tensor,
        columns: Tensor,
        starts: Tensor | None,
        frame: nn.LayerNorm | None,
    ) -> Tensor:
        """Compute self-attention (R, 1, D) of one new word per row, which is added to the past, in a frame."""


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2) with its four projections.

    `memory_width` is the width of what is attended to, `inner` that of all heads together; both default to `width`.
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
        """`query` and `key_value` as one projection, where inference has joined them."""
        self.kernel: AttentionKernel | None = None
        """Computes attention in inference, if not torch."""
        self.step: StepKernel | None = None
        """Computes attention of one word per row in inference, if not torch."""

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project what is attended to into keys and values.

        Args:
            memory: (B, S, D).

        Returns:
            Keys and values, each (B, H, S, D/H).
        """
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        return self.split(keys), self.split(values)

    def known(self, memory: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Like `keys_values`, in the form cached for decoding: a kernel may store each number in fewer bits.

        Args:
            memory: (B, S, D).
            mask: (B, 1, 1, S); false where there is padding, which need not be projected.

        Returns:
            Keys and values, each (B, H, S, D/H).
        """
        return self.keys_values(memory) if self.kernel is None else self.kernel.known(memory, mask)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project to queries, keys and values of self-attention, each (B, S, D), heads side by side."""
        if self.joined is not None:
            queries, keys, values = self.joined(x).chunk(3, dim=-1)
        else:
            queries = self.query(x)
            keys, values = self.key_value(x).chunk(2, dim=-1)
        return queries, keys, values

    def split(self, x: Tensor) -> Tensor:
        """Split (B, S, D) into heads, (B, H, S, D/H)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from x (R, T, D); other arguments and the result as in `mix`."""
        if self.kernel is not None:
            return self.kernel.attend_fixed(x, keys, values, mask)
        return self.mix(self.query(x), keys, values, mask)

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
        """Attend; the N hypotheses of a sentence share its keys, so these are never copied.

        Args:
            queries: (R, T, D), with R a multiple of the B of the keys.
            keys: (B, H, S, D/H).
            values: (B, H, S, D/H).
            mask: (B, 1, 1, S); boolean, true where a key may be seen, or values to add to the scores.
            causal: the last query sees all keys, each query before it one fewer; only without a mask.
            columns: (R, S or more), where each row's keys and values are, for a `kernel` that can look them up.

        Returns:
            (R, T, D).
        """
        folded = self._fold(queries, keys.size(0) if columns is None else columns.size(0))
        if self.kernel is not None:
            mixed = self.kernel.mix(folded, keys, values, additive(mask, folded.dtype), causal, columns)
        elif self.step is not None and queries.size(1) == 1:
            mixed = self.step.mix(queries, keys, values, mask)
        elif _is_faster_by_products(queries):
            mixed = _attend_by_products(folded, keys, values, mask, causal=causal)
        else:
            mixed = _attend_fused(folded, keys, values, mask, causal=causal)
        output: Tensor = self.output(mixed.reshape(queries.shape))
        return output

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Return the weights by which `forward` mixes the values, (B, H, N x T, S); for inspection only."""
        keys = keys if self.kernel is None else self.kernel.floats(keys)
        scores = self._fold(self.query(x), keys.size(0)) @ keys.transpose(2, 3) / math.sqrt(keys.size(-1))
        return scores.masked_fill(~mask, -math.inf).softmax(-1)

    def over_itself(self, mask: Tensor) -> Callable[[Tensor], Tensor]:
        """Return self-attention of sentences (B, S, D) as a function; `mask` (B, 1, 1, S) is false at padding."""

        def attend(x: Tensor) -> Tensor:
            queries, keys, values = self.project(x)
            return self.mix(queries, self.split(keys), self.split(values), mask)

        if self.kernel is None or self.joined is None:
            return attend
        kernel = self.kernel
        return Framed(attend, lambda x, frame: kernel.attend_itself(x, mask, frame))

    def _fold(self, queries: Tensor, sentences: int) -> Tensor:
        """Group the queries of all hypotheses of a sentence, (B, H, N x T, D/H)."""
        return self.split(queries.reshape(sentences, -1, queries.size(-1)))


def _is_faster_by_products(queries: Tensor) -> bool:
    """Whether two matrix products beat torch's fused kernels: for a single query, and in training on a CPU."""
    if torch.is_grad_enabled():
        return queries.device.type == "cpu"
    return queries.size(1) == 1


def _attend_fused(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """Attend from queries (B, H, N, D/H) with torch's fused kernel, giving (B, N, H, D/H)."""
    count, total = queries.size(2), keys.size(2)
    if causal and count < total:
        causal, mask = False, _not_after(count, total, keys.device)
    mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, is_causal=causal)
    return mixed.transpose(1, 2)


def _attend_by_products(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """Do the same by two matrix products; in mixed precision the scores are rounded to it before the softmax."""
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
    """Return the mask (N, S) of the last N queries, each of which sees the keys up to its own."""
    return torch.ones(count, total, dtype=torch.bool, device=device).tril(total - count)


@overload
def additive(mask: Tensor, dtype: torch.dtype) -> Tensor: ...
@overload
def additive(mask: None, dtype: torch.dtype) -> None: ...
def additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Convert a boolean mask to values to add to attention scores; an additive mask, or None, is returned as is.

    Not minus infinity: where nothing may be seen, the result is then arbitrary but still a number, not NaN.
    """
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, torch.finfo(dtype).min / 2)


def padding_mask(tokens: Tensor, pad: int) -> Tensor:
    """Return the mask for attention to `tokens` (B, S): (B, 1, 1, S), true at real tokens."""
    return tokens.ne(pad)[:, None, None, :]
