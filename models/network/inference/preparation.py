"""Preparation of a trained network for fast decoding: it computes the same, but can no longer be trained.

On a CPU, decoding spends most of its time in small matrix products, and much of the rest in Python. So projections
that read the same input are joined, modules that do nothing are removed, and hooks are not looked up; with int8, the
products are those of `Int8Linear`.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from models.network.architectures.context_attention import ContextAttention
from models.network.attention import Attention
from models.network.hooks import without_hooks
from models.network.inference.int8 import Int8Linear
from models.network.inference.int8_sublayers import (
    Int8Attention,
    Int8ContextAttention,
    Int8FeedForward,
    Int8Gate,
    Int8Norm,
    KernelSigmoid,
    framed_in_int8,
)
from models.network.inference.kernel_embedding import KernelEmbedding
from models.network.inference.whole_step import whole_step
from models.network.layers import FeedForward, Gate, Residual
from models.network.model import TranslationModel

_IN_INT8: Final[Sequence[Mapping[type[nn.Module], Callable[[Any], nn.Module]]]] = (
    {nn.Linear: Int8Linear, nn.LayerNorm: Int8Norm, nn.Embedding: KernelEmbedding, nn.Sigmoid: KernelSigmoid},
    {FeedForward: Int8FeedForward, Gate: Int8Gate, Residual: framed_in_int8},
    {ContextAttention: Int8ContextAttention},
)
"""Replacements that compute modules in int8, from the inside out."""
_OF_LISTS: Final[dict[str, Callable[..., object]]] = {
    "__getitem__": lambda modules, which: modules.members[which],
    "__len__": lambda modules: len(modules.members),
}
"""Methods of a list of modules; torch's look each member up by its number as a string."""


def prepare(model: nn.Module, *, int8: bool = False, fused: bool = False) -> None:
    """Prepare a model in place; it must be in evaluation mode and on its device.

    Args:
        model: keeps its parameters, except those replaced by int8 ones.
        int8: whether linear layers compute in int8, with one scale per row; on a CPU only.
        fused: whether one word per row is decoded by the kernels of `models.kernels.gpu`; only where these can be used.
    """
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, Attention) and name == "self_attention":
                child.joined = _one_of(child.query, child.key_value)
            elif isinstance(child, nn.Dropout):
                setattr(module, name, nn.Identity())
    if int8:
        _quantize(model)
    if fused:
        _fuse(model)
    if int8 and isinstance(model, TranslationModel):
        model.step = whole_step(model)
    direct = {kind: _direct(kind) for kind in {type(module) for module in model.modules()}}
    for module in model.modules():
        module.__class__ = direct[type(module)]
        # torch looks these up in Python every time; attributes of the object itself are found at once.
        module.__dict__.update(module._modules | module._parameters | module._buffers)  # noqa: SLF001
        if isinstance(module, nn.ModuleList):
            module.__dict__["members"] = tuple(module._modules.values())  # noqa: SLF001


def _one_of(*layers: nn.Linear) -> nn.Linear:
    """Join layers into one that returns their outputs side by side."""
    weight = torch.cat([layer.weight for layer in layers])
    joined = nn.Linear(weight.size(1), len(weight), bias=layers[0].bias is not None, device="meta")
    joined.weight = nn.Parameter(weight, requires_grad=False)
    if layers[0].bias is not None:
        joined.bias = nn.Parameter(torch.cat([layer.bias for layer in layers]), requires_grad=False)
    return joined


def _quantize(model: nn.Module) -> None:
    for kinds in _IN_INT8:
        _replace(model, {module: kinds[type(module)] for module in model.modules() if _has_kernel(module, kinds)})
    for module in model.modules():
        if isinstance(module, Attention):
            module.kernel = Int8Attention(module)


def _fuse(model: nn.Module) -> None:
    from models.network.inference import fused_sublayers as fused  # noqa: PLC0415 - needs Triton

    kinds: Mapping[type[nn.Module], Callable[[Any], nn.Module]] = {
        FeedForward: fused.FusedFeedForward,
        Residual: fused.fused_residual,
        ContextAttention: fused.FusedContextAttention,
    }
    modules = [module for module in model.modules() if type(module) in kinds and fused.can_be_fused(module)]
    _replace(model, {module: kinds[type(module)] for module in modules})
    for module in model.modules():
        if isinstance(module, Attention):
            module.step = fused.FusedAttention(module)


def _replace(model: nn.Module, by: Mapping[nn.Module, Callable[[Any], nn.Module]]) -> None:
    """Replace modules by what is made of each."""
    replaced = {module: make(module) for module, make in by.items()}
    for module in list(model.modules()):
        for name, child in list(module._modules.items()):  # noqa: SLF001 - a shared module has two names here
            if child in replaced:
                setattr(module, name, replaced[child])


def _has_kernel(module: nn.Module, kinds: Container[type[nn.Module]]) -> bool:
    """Whether `kinds` has an int8 version of this module."""
    return type(module) in kinds and not (isinstance(module, ContextAttention) and module.gate is None)


def _direct(kind: type[nn.Module]) -> type[nn.Module]:
    """Return the same class called without hooks; a list of modules returns its members directly."""
    own = _OF_LISTS if kind is nn.ModuleList else {"__call__": _PLAIN.get(kind, kind.forward)}
    return without_hooks(kind, own)


def _plain_norm(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    return torch.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _plain_embedding(embedding: nn.Embedding, tokens: Tensor) -> Tensor:
    return torch.embedding(embedding.weight, tokens)


_PLAIN: Final[Mapping[type[nn.Module], Callable[..., Tensor]]] = {
    nn.LayerNorm: _plain_norm,
    nn.Embedding: _plain_embedding,
}
"""Forward functions of torch's own modules, without their checks."""
