import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from models.network.int8 import Int8Linear
from models.network.kernels.machine import has_vnni, supports_int8

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
@pytest.mark.parametrize(("read", "given"), [(256, 256), (1024, 256), (256, 2048), (256, 2056), (40, 8)])
def test_few_rows_give_what_many_give(read: int, given: int) -> None:
    """To the bit, by our own loop and by FBGEMM; rows of very different sizes."""
    torch.manual_seed(2)
    linear, x = nn.Linear(read, given), torch.randn(5000, read) * torch.logspace(-20, 9, 5000)[:, None]
    loop, fbgemm = Int8Linear(linear, fbgemm=False), Int8Linear(linear, fbgemm=True)
    assert fbgemm.few < len(x) < loop.few or read * given < 1000
    together = loop(x)
    for rows in (1, 7, 64, 133):
        assert torch.equal(torch.cat([loop(some) for some in x[:300].split(rows)]), together[:300])
    assert torch.equal(fbgemm(x), together)


@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 300])
def test_a_row_of_zeros_gives_the_bias(count: int) -> None:
    """There is nothing to scale it by; nor is there for what is hardly more."""
    linear = nn.Linear(256, 256)
    for size in (0.0, 1e-38, 1e-44):
        assert torch.equal(Int8Linear(linear)(torch.full((count, 256), size)), linear.bias.detach().expand(count, -1))


@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 300])
@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_none(count: int, broken: float) -> None:
    """In the rows that have it, and there alone: who looks at the scores sees it."""
    x = torch.randn(count, 256)
    x[-1, 17] = broken
    found = Int8Linear(nn.Linear(256, 256))(x).isfinite()
    assert not found[-1].any()
    assert found[:-1].all()


@torch.inference_mode()
def test_no_rows_give_none() -> None:
    """A batch may have nothing to read."""
    assert Int8Linear(layer())(torch.empty(0, 3, 48)).shape == (0, 3, 40)


def test_a_cpu_with_vnni_multiplies_as_well(tmp_path: Path) -> None:
    """Its own loop, which this CPU may have no use for, has 8 bits for a row: within two per cent, each row alone."""
    code = (
        "import torch; known = torch.cpu.get_capabilities(); "
        "torch.cpu.get_capabilities = lambda: {**known, 'avx512_vnni': True}; "
        "from models.network.int8 import LEVELS, Int8Linear; assert LEVELS == 127; "
        "linear, x = torch.nn.Linear(200, 70), torch.randn(133, 200); int8 = Int8Linear(linear, fbgemm=False); "
        "together, expected = int8(x), linear(x).detach(); "
        "assert (together - expected).abs().max() < 0.02 * expected.abs().max(); "
        "assert torch.equal(torch.cat([int8(row) for row in x.split(1)]), together)"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, check=True)
