"""The operations around a sub-layer, and around attention to the context, for one word per row; one kernel each."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-untyped, import-not-found"
# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917 - what Triton compiles has the types that it is called with

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

_ELEMENTS = 1024
"""Elements per program of an element-wise kernel."""


@triton.jit
def _enter_kernel(x, weight, bias, later, normed, carried, epsilon, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    row, places = tl.program_id(0), tl.arange(0, WIDTH)
    real = places < SIZE
    at = row.to(tl.int64) * SIZE + places
    own = tl.load(x + at, real, 0.0).to(tl.float32)
    mean = tl.sum(own, 0) / SIZE
    apart = tl.where(real, own - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(apart * apart, 0) / SIZE + epsilon)
    result = apart * scale * tl.load(weight + places, real, 0.0).to(tl.float32)
    result += tl.load(bias + places, real, 0.0).to(tl.float32)
    tl.store(normed + at, result.to(normed.dtype.element_ty), real)
    more = own + tl.load(later + places, real, 0.0).to(tl.float32)
    tl.store(carried + at, more.to(carried.dtype.element_ty), real)


@triton.jit
def _let_in_kernel(x, found, gate, mixed, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real = at < count
    share = tl.sigmoid(tl.load(gate + at, real, 0.0).to(tl.float32))
    own = tl.load(x + at, real, 0.0).to(tl.float32)
    result = own + (1.0 - share) * tl.load(found + at, real, 0.0).to(tl.float32)
    tl.store(mixed + at, result.to(mixed.dtype.element_ty), real)


def enter(x: Tensor, norm: nn.LayerNorm, later: Tensor) -> tuple[Tensor, Tensor]:
    """Return what a sub-layer with a norm before it reads, and what its last product is added to.

    Args:
        x: (R, D), contiguous.
        norm: the sub-layer's norm, with weight and bias.
        later: (D,) the bias of the sub-layer's last product.

    Returns:
        The norm of x, and x + `later`, (R, D) each.
    """
    rows, size = x.shape
    normed, carried = torch.empty_like(x), torch.empty_like(x)
    with torch.cuda.device_of(x):
        _enter_kernel[rows,](
            x,
            norm.weight,
            norm.bias,
            later,
            normed,
            carried,
            norm.eps,
            SIZE=size,
            WIDTH=triton.next_power_of_2(size),
            num_warps=2,
        )
    return normed, carried


def let_in(x: Tensor, found: Tensor, gate: Tensor) -> Tensor:
    """Return x + (1 - sigmoid(gate)) * found, for three contiguous tensors of one shape."""
    mixed = torch.empty_like(x)
    with torch.cuda.device_of(x):
        _let_in_kernel[triton.cdiv(x.numel(), _ELEMENTS),](x, found, gate, mixed, x.numel(), BLOCK=_ELEMENTS)
    return mixed
