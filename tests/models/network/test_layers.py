import pytest
import torch
from ctranslate2.specs import common_spec

from models.config import Activation
from models.network.layers import ACTIVATIONS, Residual, final_norm


def test_norm_comes_before_or_after() -> None:
    """Pre-norm is x + f(LN(x)), post-norm LN(x + f(x))."""
    x, norm = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(1)), torch.nn.LayerNorm(8)
    assert torch.allclose(Residual(8, "pre", 0.0)(x, torch.tanh), x + norm(x).tanh())
    assert torch.allclose(Residual(8, "post", 0.0)(x, torch.tanh), norm(x + x.tanh()))


def test_only_a_pre_norm_stack_is_closed_by_a_norm() -> None:
    """A post-norm stack already ends with one."""
    assert isinstance(final_norm(8, "pre"), torch.nn.LayerNorm)
    assert not list(final_norm(8, "post").parameters())


@pytest.mark.parametrize(
    ("name", "value"), [("relu", 0.0), ("gelu", -0.158655), ("gelu_tanh", -0.158808), ("swish", -0.268941)]
)
def test_activations_are_those_of_ctranslate2(name: Activation, value: float) -> None:
    """Each has its published value at -1, and CTranslate2 has the same activation."""
    assert ACTIVATIONS[name](torch.tensor(-1.0)).item() == pytest.approx(value, abs=1e-6)
    names = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "swish": "SWISH"}
    assert names[name] in common_spec.Activation.__members__
