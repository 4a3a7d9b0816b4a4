"""Sub-layers of one word a row on a GPU, each in as few kernels as there are products in it, and one or two more.

What a step of decoding takes there is not its arithmetic but the number of its kernels (`models.kernels.gpu`). Whole
sentences, as in encoders, are torch's.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn

from models.kernels.gpu.attention import attend_fixed, attend_past
from models.kernels.gpu.sublayers import enter, let_in
from models.network.architectures.context_attention import ContextAttention
from models.network.inference.framed_residual import FramedResidual
from models.network.layers import Attention, FeedForward, Residual, additive


class FusedAttention:
    """What computes an attention of one word a row; satisfies `models.network.layers.StepKernel`."""

    def __init__(self, attention: Attention) -> None:
        """Compute `attention`, whose weights stay as they are."""
        self._attention: Final = attention
        self._output: Final = _Closing(attention.output)

    @staticmethod
    def mix(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Attention alone, (R, 1, D), of queries (R, 1, D), without projections."""
        if keys.stride() != values.stride():
            keys, values = keys.contiguous(), values.contiguous()
        return attend_fixed(queries.contiguous(), keys, values, additive(mask, queries.dtype))

    def attend_fixed(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: nn.LayerNorm) -> Tensor:
        """Attention to what sentences have, with a norm before it and a residual connection around it, (R, 1, D)."""
        normed, carried = self._output.enter(x, frame)
        return self._output.close(self.mix(self._attention.query(normed)[:, None], keys, values, mask), carried)

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int | Tensor,
        columns: Tensor,
        starts: Tensor | None,
        frame: nn.LayerNorm | None,
    ) -> Tensor:
        """Self-attention of one more word each, (R, 1, D), whose keys and values are added to those of the past.

        Args:
            x: (R, 1, D).
            past: keys and values, (more than `position`, R or more, D).
            position: the words that are there; on the device, (1,), if it is to be read there.
            columns: as in `State`.
            starts: as in `State`.
            frame: the norm before it, if a residual connection is around it.
        """
        here = columns.new_full((1,), position) if isinstance(position, int) else position
        starts = columns.new_zeros(len(columns)) if starts is None else starts
        normed, carried = (x[:, 0], None) if frame is None else self._output.enter(x, frame)
        new = self._attention.project(normed[:, None])
        mixed = attend_past(new, past, columns, here, starts, self._attention.heads)
        output: Tensor = self._attention.output(mixed) if carried is None else self._output.close(mixed, carried)
        return output


class FusedFeedForward(FeedForward):
    """A feed-forward layer that computes its residual connection, too."""

    def __init__(self, layer: FeedForward) -> None:
        """What `layer` is."""
        nn.Module.__init__(self)
        self.inner, self.outer, self.activation = layer.inner, layer.outer, layer.activation
        self._closing = _Closing(self.outer)

    def inside(self, x: Tensor, frame: nn.LayerNorm) -> Tensor | None:
        """Of one word a row, (R, 1, D); nothing for more of them, or for blocks of sentences."""
        if x.dim() != 3 or x.size(1) > 1:
            return None
        normed, carried = self._closing.enter(x, frame)
        return self._closing.close(self.activation(self.inner(normed))[:, None], carried)


class FusedContextAttention(ContextAttention):
    """A gated context sub-layer with a norm before it."""

    def __init__(self, sublayer: ContextAttention) -> None:
        """What `sublayer` is."""
        nn.Module.__init__(self)
        self.attention, self.norm, self.gate = sublayer.attention, sublayer.norm, sublayer.gate
        self.dropout, self.order = sublayer.dropout, sublayer.order
        assert self.gate is not None
        self._watchers: Final = self.attention._forward_hooks, self.gate._forward_hooks  # noqa: SLF001

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, real: Tensor | None = None) -> Tensor:
        """Mix the context into x (R, T, D)."""
        if x.size(1) > 1 or any(self._watchers) or self.gate is None:
            return super().forward(x, keys, values, mask, real)
        query = self.norm(x)
        found = self.attention(query, keys, values, mask)
        gate = torch.addmm(self.gate.sentence(query)[:, 0], found[:, 0], self.gate.context.weight.T)
        return let_in(x, found, gate[:, None])


class _Closing:
    """The last product of a sub-layer, which adds what it is given on the way."""

    def __init__(self, layer: nn.Linear) -> None:
        self._layer: Final = layer
        self._nought: Final = layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else None

    def enter(self, x: Tensor, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        """What the sub-layer reads of x (R, 1, D), and what is to be added to its result, (R, D) each."""
        return enter(x[:, 0].contiguous(), norm, self._layer.bias if self._nought is None else self._nought)

    def close(self, x: Tensor, carried: Tensor) -> Tensor:
        """(R, 1, D) of x (R, 1, E)."""
        return torch.addmm(carried, x[:, 0], self._layer.weight.T)[:, None]


def fused_residual(residual: Residual) -> Residual:
    """A residual connection as sub-layers here take it."""
    return FramedResidual(residual, residual.norm)


def can_be_fused(module: Any) -> bool:  # noqa: ANN401 - any module
    """Whether it is one of those whose norm stands before the sub-layer."""
    if isinstance(module, ContextAttention):
        return module.order == "pre" and module.gate is not None
    return not isinstance(module, Residual) or module.pre
