"""Relative attention with a memory, by a kernel and by torch."""

from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from models.config import BackboneConfig
from models.network.architectures.transformer_xl import RelativeAttention
from models.network.attention import Attention, AttentionKernel
from models.network.layers import Residual
from models.network.state import State

CONFIG = BackboneConfig(width=40, heads=2, decoder_layers=1, max_length=60)
SENTENCES = 3
BY_KERNEL = cast(AttentionKernel, object())
"""Only its presence matters: projections are computed in floats."""


@pytest.fixture(params=[False, True], ids=["as published", "warm start"])
def relative(request: pytest.FixtureRequest) -> RelativeAttention:
    """Relative attention with random weights."""
    torch.manual_seed(3)
    relative = RelativeAttention(CONFIG, warm_start=request.param)
    for bias in (relative.content_bias, relative.position_bias):
        nn.init.normal_(bias)
    for bias in relative.memory_biases:
        nn.init.normal_(bias, std=0.1)
    return relative.eval()


@pytest.fixture
def attention() -> Attention:
    """The backbone's attention."""
    torch.manual_seed(4)
    return Attention(CONFIG.width, CONFIG.heads).eval()


def state(*, remembers: bool) -> State:
    """The state before the first word; preceding sentences had four words, one word and none."""
    torch.manual_seed(5)
    fixed = {"x": torch.empty(SENTENCES)}
    if remembers:
        real = torch.tensor([[1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]]).bool()
        fixed |= {"memory.0": torch.randn(SENTENCES, 4, CONFIG.width) * real[:, :, None], "memory.real": real}
    return State(fixed, cached=True)


def words(count: int, hypotheses: int) -> list[Tensor]:
    """The sub-layer's input at one word after another, (R, 1, D) each."""
    torch.manual_seed(6)
    return [torch.randn(SENTENCES * hypotheses, 1, CONFIG.width) for _ in range(count)]


def attended(relative: RelativeAttention, attention: Attention, steps: list[Tensor], state: State) -> Tensor:
    """The sub-layer's output at every word."""
    residual, found = Residual(CONFIG.width, "pre", 0).eval(), []
    for x in steps:
        found.append(relative(0, x, attention, residual, state))
        state.advance(x.size(1))
    return torch.cat(found, dim=1)


@torch.inference_mode()
@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("hypotheses", [1, 3])
def test_the_kernel_computes_what_torch_computes(
    relative: RelativeAttention, attention: Attention, hypotheses: int, *, remembers: bool
) -> None:
    """They agree word by word, while the cache grows, and for all words at once."""
    steps = words(40, hypotheses)
    expected = attended(relative, attention, steps, state(remembers=remembers))
    attention.kernel = BY_KERNEL
    found = attended(relative, attention, steps, state(remembers=remembers))
    assert torch.allclose(found, expected, atol=1e-5)
    at_once = attended(relative, attention, [torch.cat(steps, dim=1)], state(remembers=remembers))
    assert torch.allclose(at_once, expected, atol=1e-5)


@torch.inference_mode()
@pytest.mark.parametrize("remembers", [False, True])
def test_a_hypothesis_that_begins_later_gives_the_same(
    relative: RelativeAttention, attention: Attention, *, remembers: bool
) -> None:
    """This holds after words that are not its own, with the kernel and with torch."""
    before, steps = words(5, 1), words(12, 1)[5:]
    alone = attended(relative, attention, steps, state(remembers=remembers))
    for kernel in (None, BY_KERNEL):
        attention.kernel = kernel
        late = state(remembers=remembers)
        attended(relative, attention, before, late)
        late = replace(late, starts=torch.full((SENTENCES,), len(before)))
        assert torch.allclose(attended(relative, attention, steps, late), alone, atol=1e-5)


@torch.inference_mode()
def test_a_sentence_depends_on_no_other(relative: RelativeAttention, attention: Attention) -> None:
    """With the kernel, a result depends, to the bit, neither on other sentences nor on the padding of its memory.

    The projections around it have whole numbers, so that they compute without rounding.
    """
    attention.kernel = BY_KERNEL
    for parameter in attention.parameters():
        parameter.copy_((8 * parameter).round())
    attention.output = nn.Identity()  # type: ignore[assignment]
    residual = Residual(CONFIG.width, "post", 0).eval()
    residual.norm = nn.Identity()  # type: ignore[assignment]
    together, (x,) = state(remembers=True), words(1, 1)
    together.fixed["memory.0"] = together.fixed["memory.0"].round()
    one = {name: tensor[1:2, 3:] if "memory" in name else tensor[1:2] for name, tensor in together.fixed.items()}
    found = relative(0, x.round(), attention, residual, together)
    alone = relative(0, x.round()[1:2], attention, residual, State(one, cached=True))
    assert found.abs().max() > 1
    assert torch.equal(alone, found[1:2])
