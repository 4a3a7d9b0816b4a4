import pytest
import torch
from torch import nn

from models.network.int8 import Int8Linear, has_vnni, supports_int8

pytestmark = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


def layer(*, bias: bool = True) -> nn.Linear:
    """A linear layer with random weights of very different rows."""
    torch.manual_seed(1)
    linear = nn.Linear(48, 40, bias=bias)
    with torch.no_grad():
        linear.weight *= torch.logspace(-3, 2, 40)[:, None]
    return linear


@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_close_to_the_layer_it_replaces(*, bias: bool) -> None:
    """Within two per cent of each output's size, four without VNNI, in any shape, whatever its weights."""
    linear, x = layer(bias=bias), torch.randn(5, 7, 48)
    expected, found = linear(x), Int8Linear(linear)(x)
    assert found.shape == expected.shape
    assert ((found - expected).abs().amax((0, 1)) / expected.abs().amax((0, 1))).max() < (0.02 if has_vnni() else 0.04)


@torch.inference_mode()
def test_a_row_depends_on_no_other() -> None:
    """A batch mate a thousand times as large changes not one bit."""
    int8, x = Int8Linear(layer()), torch.randn(9, 48)
    x[4] *= 1000
    together = int8(x)
    assert all(torch.equal(int8(x[row : row + 1])[0], together[row]) for row in range(9))


@torch.inference_mode()
def test_a_row_of_zeros_gives_the_bias() -> None:
    """There is nothing to scale it by."""
    linear = layer()
    assert torch.equal(Int8Linear(linear)(torch.zeros(2, 48)), linear.bias.detach().expand(2, -1))
