"""Sub-layers in int8, each in one call."""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.network.int8 import Arrays, Int8Linear
from models.network.kernels.attention import attend
from models.network.kernels.sublayers import attend_fixed, attend_past, feed_forward, open_gate
from models.network.layers import Attention, FeedForward, Gate, additive

_ALL_SEEN: Final = np.empty((0, 0), np.float32)


class Int8FeedForward(FeedForward):
    """A feed-forward layer with ReLU, its linear layers in int8."""

    def __init__(self, layer: FeedForward) -> None:
        """What `layer` is, which has been brought to int8."""
        nn.Module.__init__(self)
        self.inner, self.outer, self.activation = layer.inner, layer.outer, layer.activation
        self._arrays = _arrays(self.inner), _arrays(self.outer)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
        feed_forward(_rows(x), *self._arrays, _rows(result))
        return result


class Int8Gate(Gate):
    """A gate, its linear layers in int8."""

    def __init__(self, gate: Gate) -> None:
        """What `gate` is, which has been brought to int8."""
        nn.Module.__init__(self)
        self.sentence, self.context = gate.sentence, gate.context
        self._arrays = _arrays(self.sentence), _arrays(self.context)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Weight of x against y, both (B, S, D)."""
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
        open_gate(_rows(x), _rows(y), *self._arrays, _rows(result))
        return result


class Int8Attention:
    """What computes an attention whose projections are in int8; satisfies `models.network.layers.AttentionKernel`."""

    mix = staticmethod(attend)

    def __init__(self, attention: Attention) -> None:
        """Compute `attention`, which has been brought to int8."""
        self._heads = attention.heads
        self._fixed = _arrays(attention.query), _arrays(attention.output)
        if attention.joined is not None:
            self._past = _arrays(attention.joined), _arrays(attention.output)

    def attend_fixed(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """As `Attention.forward`."""
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
        arrays = keys.contiguous().numpy(), values.contiguous().numpy(), _seen(mask)
        attend_fixed(_rows(x), *self._fixed, *arrays, _rows(result))
        return result

    def attend_past(
        self, x: Tensor, past: tuple[Tensor, Tensor], position: int, columns: Tensor, unseen: Tensor | None
    ) -> Tensor:
        """Self-attention of one more word each, (R, 1, D), whose keys and values are added to those of the past.

        Args:
            x: (R, 1, D).
            past: keys and values, (more than `position`, R or more, D).
            position: the words that are there.
            columns: as in `State`.
            unseen: what is added to the scores, (R, 1, 1, position + 1), if not all words are seen.
        """
        result = torch.empty_like(x, memory_format=torch.contiguous_format)
        arrays = (past[0].numpy(), past[1].numpy()), position, columns.numpy(), _seen(unseen)
        attend_past(_rows(x), *self._past, self._heads, *arrays, _rows(result))
        return result


def _arrays(layer: nn.Module) -> Arrays:
    assert isinstance(layer, Int8Linear)
    return layer.arrays


def _rows(x: Tensor) -> NDArray[np.float32]:
    return x.reshape(-1, x.size(-1)).contiguous().numpy()


def _seen(mask: Tensor | None) -> NDArray[np.float32]:
    if mask is None:
        return _ALL_SEEN
    return additive(mask, torch.float32).reshape(mask.size(0), -1).numpy()
