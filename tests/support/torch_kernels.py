"""The CUDA kernels' computations in torch, for machines with neither a GPU nor Triton."""

import sys
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make models use these functions instead of the kernels."""
    attention, sublayers = (ModuleType(f"models.kernels.gpu.{name}") for name in ("attention", "sublayers"))
    attention.__dict__.update(attend_past=attend_past, attend_fixed=attend_fixed)
    sublayers.__dict__.update(enter=enter, let_in=let_in)
    for module in (attention, sublayers):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "models.network.inference.fused_sublayers", raising=False)


def attend_past(
    new: tuple[Tensor, Tensor, Tensor],
    past: tuple[Tensor, Tensor],
    columns: Tensor,
    here: Tensor,
    starts: Tensor,
    heads: int,
) -> Tensor:
    """As `models.kernels.gpu.attention.attend_past`."""
    queries, *pairs = new
    columns = columns[:, : len(past[0])]
    places, own = torch.arange(len(past[0])), torch.arange(len(queries))[:, None]
    where = torch.where(places[: columns.size(1)] == here, own, columns)
    seen = (places >= starts[: len(queries), None]) & (places <= here)
    found = []
    for cache, word in zip(past, pairs, strict=True):
        cache[:, : len(queries)].index_copy_(0, here, word.transpose(0, 1))
        known = cache[places[: columns.size(1)], where].masked_fill(~seen[:, : columns.size(1), None], 0)
        found.append(known.unflatten(-1, (heads, -1)).transpose(1, 2))
    return _mixed(queries, *found, seen[:, None, None, : columns.size(1)])


def attend_fixed(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """As `models.kernels.gpu.attention.attend_fixed`."""
    folded = queries.view(len(keys), -1, queries.size(-1))
    return _mixed(folded, keys, values, mask).view_as(queries)


def _mixed(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    by_head = queries.unflatten(-1, (keys.size(1), -1)).transpose(1, 2)
    mixed = nn.functional.scaled_dot_product_attention(by_head, keys, values, attn_mask=mask)
    return mixed.transpose(1, 2).flatten(2)


def enter(x: Tensor, norm: nn.LayerNorm, later: Tensor) -> tuple[Tensor, Tensor]:
    """As `models.kernels.gpu.sublayers.enter`."""
    return nn.functional.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps), x + later


def let_in(x: Tensor, found: Tensor, gate: Tensor) -> Tensor:
    """As `models.kernels.gpu.sublayers.let_in`."""
    return x + (1 - gate.sigmoid()) * found
