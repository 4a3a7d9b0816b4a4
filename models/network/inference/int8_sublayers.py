"""Sub-layers in int8, each computed in one call together with its norm and residual connection."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.config import Activation
from models.kernels.activations import GELU, GELU_TANH, RELU, SWISH, sigmoid
from models.kernels.attention import ALL_SEEN, attend
from models.kernels.norms import NO_FRAME, POST, PRE, Frame, Norm, norm
from models.kernels.padding import ALL_REAL
from models.kernels.sublayers import (
    attend_fixed,
    attend_itself,
    attend_past,
    feed_forward,
    keys_values,
    let_context_in,
    open_gate,
)
from models.network.architectures.context_attention import ContextAttention
from models.network.attention import Attention, additive
from models.network.inference.framed_residual import FramedResidual
from models.network.inference.int8 import Arrays, Int8Linear
from models.network.layers import ACTIVATIONS, FeedForward, Framed, Gate, Residual

Floats = NDArray[np.float32]
_Three = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Int8Norm(nn.LayerNorm):
    """A layer norm that sums in the same order as the sub-layer kernels do."""

    def __init__(self, layer: nn.LayerNorm) -> None:
        """Replace `layer`."""
        super().__init__(list(layer.normalized_shape), layer.eps)
        self.weight, self.bias = layer.weight, layer.bias
        self.arrays: Final[Norm] = layer.weight.detach().numpy(), layer.bias.detach().numpy(), np.float32(layer.eps)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        given, result = _with_room(x)
        norm(given, *self.arrays, result)
        return torch.from_numpy(result)

    def frame(self, *, pre: bool) -> Frame:
        """Return a residual connection with this norm before or after the sub-layer."""
        return PRE if pre else POST, *self.arrays


_NUMBERS: Final[Mapping[Activation, int]] = {"relu": RELU, "gelu": GELU, "gelu_tanh": GELU_TANH, "swish": SWISH}
NUMBERS: Final[Mapping[Callable[[Tensor], Tensor], int]] = {
    ACTIVATIONS[name]: number for name, number in _NUMBERS.items()
}
"""Activation functions by the numbers that kernels know them by."""


class KernelSigmoid(nn.Sigmoid):
    """1 / (1 + e^-x), rounded alike everywhere: torch rounds the last numbers of a batch differently from the rest."""

    def __init__(self, _sigmoid: nn.Sigmoid) -> None:
        """Replace torch's module."""
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        result = x.clone(memory_format=torch.contiguous_format)
        sigmoid(result.view(-1, x.size(-1)).numpy())
        return result


class Int8FeedForward(FeedForward):
    """A feed-forward layer whose linear layers are in int8."""

    def __init__(self, layer: FeedForward) -> None:
        """Replace `layer`, whose linear layers are already in int8."""
        nn.Module.__init__(self)
        self.inner, self.outer, self.activation = layer.inner, layer.outer, layer.activation
        self._arrays = _arrays(self.inner), _arrays(self.outer), NUMBERS[self.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.inside(x, NO_FRAME)

    def inside(self, x: Tensor, frame: Frame, mask: Tensor | None = None) -> Tensor:
        """Compute the layer in a frame, skipping padding."""
        given, result = _with_room(x)
        feed_forward(given, _real(mask), *self._arrays, frame, result)
        return torch.from_numpy(result)

    def over(self, mask: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the layer for sentences (B, S, D); its output is zero at padding."""
        return Framed(self, lambda x, frame: self.inside(x, frame, mask))


class Int8Gate(Gate):
    """A gate whose linear layers are in int8."""

    def __init__(self, gate: Gate) -> None:
        """Replace `gate`, whose linear layers are already in int8."""
        nn.Module.__init__(self)
        self.sentence, self.context = gate.sentence, gate.context
        self.arrays: Final = _arrays(self.sentence), _arrays(self.context)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the weight of x against y, both (B, S, D)."""
        given, result = _with_room(x)
        open_gate(given, _whole(y), *self.arrays, result)
        return torch.from_numpy(result)


class Int8ContextAttention(ContextAttention):
    """A gated context sub-layer whose linear layers are in int8."""

    def __init__(self, sublayer: ContextAttention) -> None:
        """Replace `sublayer`, whose parts are all in int8 already."""
        nn.Module.__init__(self)
        self.attention, self.norm, self.gate = sublayer.attention, sublayer.norm, sublayer.gate
        self.dropout, self.order = sublayer.dropout, sublayer.order
        assert isinstance(self.gate, Int8Gate)
        self._watchers: Final = self.attention._forward_hooks, self.gate._forward_hooks  # noqa: SLF001
        self._arrays = _arrays(self.attention.query), _arrays(self.attention.output)
        self._gate_arrays = self.gate.arrays
        self._frame = _frame(self.norm, pre=self.order == "pre")
        self._known = _Known(_to_read)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor, real: Tensor | None = None) -> Tensor:
        """Mix the context into x (R, T, D); the output is zero where x is padding."""
        if any(self._watchers):
            return super().forward(x, keys, values, mask, real)
        given, result = _with_room(x)
        one_step = x.size(1) == 1  # decoding steps share their keys; those of whole sentences do not recur
        known = (self._known.arrays if one_step else _to_read)(keys, values, mask)
        let_context_in(given, _real(real), *self._arrays, *known, *self._gate_arrays, self._frame, result)
        return torch.from_numpy(result)


class Int8Attention:
    """Attention whose projections are in int8; satisfies `models.network.attention.AttentionKernel`."""

    mix = staticmethod(attend)
    keeps = torch.int16

    def __init__(self, attention: Attention) -> None:
        """Compute `attention`, whose projections are already in int8."""
        self._heads = attention.heads
        self._fixed = _arrays(attention.query), _arrays(attention.output)
        self._key_value = _arrays(attention.key_value)
        self._known, self._past = _Known(_to_read), _Known(_to_write)
        if attention.joined is not None:
            self._joined = _arrays(attention.joined), _arrays(attention.output)

    @staticmethod
    def kept(keys: Tensor) -> Tensor:
        """Convert to half precision, which halves the reading per step; as int16 bits, since Numba has no float16."""
        return keys.half().view(torch.int16)

    def known(self, memory: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return keys and values of (B, S, D) in cached form, each (B, H, S, D/H), zero at padding."""
        given = _whole(memory)
        sentences, words, _ = given.shape
        shape = sentences, self._heads, words, self._key_value[-1] // (2 * self._heads)
        # Allocated by torch, which aligns to a cache line: they are read at every step.
        keys, values = torch.empty(shape, dtype=torch.int16), torch.empty(shape, dtype=torch.int16)
        keys_values(given, _real(mask), self._key_value, keys.numpy(), values.numpy())
        return keys, values

    @staticmethod
    def floats(kept: Tensor) -> Tensor:
        """Convert back to numbers."""
        return kept.view(torch.float16).float()

    def attend_fixed(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, frame: Frame = NO_FRAME
    ) -> Tensor:
        """Attend like `Attention.forward`, in a frame."""
        given, result = _with_room(x)
        known = self._known.arrays(keys, values, mask)
        attend_fixed(given, *self._fixed, *known, frame, result)
        return torch.from_numpy(result)

    def attend_itself(self, x: Tensor, mask: Tensor, frame: Frame) -> Tensor:
        """Compute self-attention of sentences (B, S, D), each to its own words, in a frame; zero at padding."""
        given, result = _with_room(x)
        attend_itself(given, *self._joined, self._heads, _real(mask), frame, result)
        return torch.from_numpy(result)

    def attend_past(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        position: int,
        columns: Tensor,
        unseen: Tensor | None,
        frame: Frame,
    ) -> Tensor:
        """Compute self-attention of one new word per row, (R, 1, D), whose keys and values are added to the past.

        Args:
            x: (R, 1, D).
            past: keys and values, (more than `position`, R or more, D).
            position: number of words in the past.
            columns: as in `State`.
            unseen: added to the scores, (R, 1, 1, position + 1), if not all words are seen.
            frame: the residual connection around it.
        """
        given, result = _with_room(x)
        keys, values, where = self._past.arrays(*past, columns)
        arrays = (keys, values), position, where, seen(unseen)
        attend_past(given, *self._joined, self._heads, *arrays, frame, result)
        return torch.from_numpy(result)


class _Known:
    """Cached arrays of what is attended to: the same tensors recur at each step, and converting them takes longer."""

    def __init__(self, of: Callable[[Tensor, Tensor, Tensor | None], _Three]) -> None:
        self._of = of
        self._last: tuple[Tensor, Tensor, Tensor | None, _Three] | None = None

    def arrays(self, keys: Tensor, values: Tensor, third: Tensor | None) -> _Three:
        """Return the arrays of tensors whose memory does not move."""
        last = self._last
        if last is None or last[0] is not keys or last[1] is not values or last[2] is not third:
            last = self._last = keys, values, third, self._of(keys, values, third)
        return last[3]


def _to_read(keys: Tensor, values: Tensor, mask: Tensor | None) -> _Three:
    return _whole(keys), _whole(values), seen(mask)


def _to_write(keys: Tensor, values: Tensor, columns: Tensor | None) -> _Three:
    assert columns is not None
    return keys.numpy(), values.numpy(), columns.numpy()


def framed_in_int8(residual: Residual) -> FramedResidual:
    """A residual connection whose norm is an `Int8Norm`."""
    return FramedResidual(residual, _frame(residual.norm, pre=residual.pre))


def _frame(layer: nn.Module, *, pre: bool) -> Frame:
    assert isinstance(layer, Int8Norm)
    return layer.frame(pre=pre)


def _arrays(layer: nn.Module) -> Arrays:
    assert isinstance(layer, Int8Linear)
    return layer.arrays


def _with_room(x: Tensor) -> tuple[Floats, Floats]:
    """Return x as an array, and an empty array for a result of its shape."""
    whole = _whole(x)
    return whole, np.empty(whole.shape, np.float32)


def _whole(x: Tensor) -> Floats:
    """Return x as a contiguous array, which kernels require."""
    return x.contiguous().numpy()


def seen(mask: Tensor | None) -> Floats:
    """Convert a mask (B, 1, 1, S) to values (B, S) to add to scores; empty if all is seen."""
    if mask is None:
        return ALL_SEEN
    hidden = additive(mask, torch.float32).numpy()
    return hidden.reshape(len(hidden), -1)


def _real(mask: Tensor | None) -> NDArray[np.bool_]:
    """Convert a mask (B, 1, 1, S) to (B, S), true at words."""
    return ALL_REAL if mask is None else np.ascontiguousarray(mask.numpy()).reshape(len(mask), -1)
