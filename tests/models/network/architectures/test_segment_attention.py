"""Attention over a block that uses distances in sentences, by a kernel and by torch."""

from typing import cast

import pytest
import torch
from torch import Tensor, nn

from models.network.architectures.segment_attention import SegmentAttention
from models.network.attention import AttentionKernel

WIDTH, HEADS, LENGTH = 40, 2, 6
BY_KERNEL = cast(AttentionKernel, object())
"""Only its presence matters: projections are computed in floats."""


def made(*, relative: bool) -> SegmentAttention:
    """A layer with random weights; its projections have whole numbers, so that they compute without rounding."""
    torch.manual_seed(3)
    layer = SegmentAttention(WIDTH, HEADS, relative=relative).eval()
    with torch.no_grad():
        for parameter in layer.attention.parameters():
            parameter.copy_((4 * parameter).round())
    layer.attention.output = nn.Identity()  # type: ignore[assignment]
    return layer


def blocks() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Two blocks of five sentences, three of which are translated; much is padding, or hidden because it follows."""
    torch.manual_seed(4)
    x = torch.randn(2, 3, LENGTH, WIDTH).round()
    keys, values = torch.randn(2, 2, 5, HEADS, LENGTH, WIDTH // HEADS)
    lengths = torch.tensor([[6, 1, 4, 0, 2], [3, 3, 6, 5, 0]])
    mask = (torch.arange(LENGTH) < lengths[:, :, None])[:, None].repeat(1, 3, 1, 1)
    mask[0, 0, 2:] = False
    return x, keys, values, mask, torch.arange(5) - torch.tensor([0, 2, 4])[None, :, None].expand(2, 3, 1)


@torch.inference_mode()
@pytest.mark.parametrize("relative", [True, False])
def test_the_kernel_computes_what_torch_computes(*, relative: bool) -> None:
    """They agree with and without tables of distances."""
    layer = made(relative=relative)
    expected = layer(*blocks())
    layer.attention.kernel = BY_KERNEL
    assert torch.allclose(layer(*blocks()), expected, atol=1e-5)


@torch.inference_mode()
def test_a_sentence_depends_on_no_other_and_on_no_padding() -> None:
    """With the kernel, a sentence alone with what it sees gives the same, to the bit."""
    layer = made(relative=True)
    layer.attention.kernel = BY_KERNEL
    x, keys, values, mask, distance = blocks()
    together = layer(x, keys, values, mask, distance)
    assert not mask[0, 0, 2:].any()
    alone = layer(x[:1, :1], keys[:1, :2], values[:1, :2], mask[:1, :1, :2], distance[:1, :1, :2])
    assert torch.equal(alone, together[:1, :1])


@torch.inference_mode()
def test_what_sees_nothing_is_a_number() -> None:
    """Its result is never read, but a NaN would spread."""
    layer = made(relative=True)
    layer.attention.kernel = BY_KERNEL
    x, keys, values, mask, distance = blocks()
    mask[1, 2] = False
    assert layer(x, keys, values, mask, distance).isfinite().all()
