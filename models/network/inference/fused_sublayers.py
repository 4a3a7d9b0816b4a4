"""Sub-layers for one word per row on a GPU, each with one kernel per matrix product and one or two more.

The cost of a decoding step there is not its arithmetic but its number of kernels (`models.kernels.gpu`). Whole
sentences, as in encoders, are left to torch.
"""

from typing import Any, Final

import torch
from torch import Tensor, nn

from models.kernels.gpu.attention import attend_fixed, attend_past
from models.kernels.gpu.sublayers import enter, let_in
from models.network.architectures.context_attention import ContextAttention
from models.network.attention import Attention, additive
from models.network.inference.framed_residual import FramedResidual
from models.network.layers import FeedForward, Residual


class FusedAttention:
    """Attention for one word per row; satisfies `models.network.attention.StepKernel`."""

    def __init__(self, attention: Attention) -> None:
        """Compute `attention`, whose weights are not changed."""
        self._attention: Final = attention
        self._output: Final = _Closing(attention.output)

    @staticmethod
    def mix(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Attend, (R, 1, D), from queries (R, 1, D), without projections."""
        if keys.stride() != values.stride():
            keys, values = keys.contiguous(), values.contiguous()
        return attend_fixed(queries.contiguous(), keys, values, additive(mask, queries.dtype))

    def attend_fixed(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: nn.LayerNorm) -> Tensor:
        """Attend to fixed keys of sentences, with a pre-norm and a residual connection around it, (R, 1, D)."""
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
        """Compute self-attention of one new word per row, (R, 1, D), whose keys and values are added to the past.

        Args:
            x: (R, 1, D).
            past: keys and values, (more than `position`, R or more, D).
            position: number of words in the past; a tensor (1,) if it is to be read on the device.
            columns: as in `State`.
            starts: as in `State`.
            frame: the norm before it; None if it has no residual connection around it.
        """
        here = columns.new_full((1,), position) if isinstance(position, int) else position
        starts = columns.new_zeros(len(columns)) if starts is None else starts
        normed, carried = (x[:, 0], None) if frame is None else self._output.enter(x, frame)
        new = self._attention.project(normed[:, None])
        mixed = attend_past(new, past, columns, here, starts, self._attention.heads)
        output: Tensor = self._attention.output(mixed) if carried is None else self._output.close(mixed, carried)
        return output


class FusedFeedForward(FeedForward):
    """A feed-forward layer that also computes its residual connection."""

    def __init__(self, layer: FeedForward) -> None:
        """Replace `layer`."""
        nn.Module.__init__(self)
        self.inner, self.outer, self.activation = layer.inner, layer.outer, layer.activation
        self._closing = _Closing(self.outer)

    def inside(self, x: Tensor, frame: nn.LayerNorm) -> Tensor | None:
        """Compute one word per row, (R, 1, D), with its residual connection; None for several words or sentences."""
        if x.dim() != 3 or x.size(1) > 1:
            return None
        normed, carried = self._closing.enter(x, frame)
        return self._closing.close(self.activation(self.inner(normed))[:, None], carried)


class FusedContextAttention(ContextAttention):
    """A gated context sub-layer with pre-norm."""

    def __init__(self, sublayer: ContextAttention) -> None:
        """Replace `sublayer`."""
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
    """The last product of a sub-layer, which adds the residual stream in the same kernel."""

    def __init__(self, layer: nn.Linear) -> None:
        self._layer: Final = layer
        self._nought: Final = layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else None

    def enter(self, x: Tensor, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        """Return the sub-layer's input from x (R, 1, D), and what is to be added to its result, (R, D) each."""
        return enter(x[:, 0].contiguous(), norm, self._layer.bias if self._nought is None else self._nought)

    def close(self, x: Tensor, carried: Tensor) -> Tensor:
        """Return the sub-layer's output (R, 1, D) from x (R, 1, E)."""
        return torch.addmm(carried, x[:, 0], self._layer.weight.T)[:, None]


def fused_residual(residual: Residual) -> Residual:
    """Wrap a residual connection for the sub-layers here."""
    return FramedResidual(residual, residual.norm)


def can_be_fused(module: Any) -> bool:  # noqa: ANN401 - any module
    """Whether the module has a kernel here: residuals and context sub-layers need pre-norm, the latter also a gate."""
    if isinstance(module, ContextAttention):
        return module.order == "pre" and module.gate is not None
    return not isinstance(module, Residual) or module.pre
