import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from models.kernels.machine import TILES, VNNI, supports_int8
from models.kernels.products import multiply
from models.network.inference.int8 import Int8Linear, round_rows

pytestmark = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")


def layer(*, bias: bool = True) -> nn.Linear:
    """A linear layer with random weights, whose rows have very different sizes."""
    torch.manual_seed(1)
    linear = nn.Linear(48, 40, bias=bias)
    with torch.no_grad():
        linear.weight *= torch.logspace(-3, 2, 40)[:, None]
    return linear


@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_close_to_the_layer_it_replaces(*, bias: bool) -> None:
    """It is within two per cent of each output's size, or four without VNNI, for any shape and any sizes of weights."""
    linear, x = layer(bias=bias), torch.randn(5, 7, 48)
    expected, found = linear(x), Int8Linear(linear)(x)
    assert found.shape == expected.shape
    assert ((found - expected).abs().amax((0, 1)) / expected.abs().amax((0, 1))).max() < (0.02 if VNNI else 0.04)


@torch.inference_mode()
def test_a_row_depends_on_no_other() -> None:
    """Another row that is a thousand times as large does not change a single bit."""
    int8, x = Int8Linear(layer()), torch.randn(9, 48)
    x[4] *= 1000
    together = int8(x)
    assert all(torch.equal(int8(x[row : row + 1])[0], together[row]) for row in range(9))


@torch.inference_mode()
@pytest.mark.parametrize(("read", "given"), [(256, 256), (1024, 256), (256, 2048), (256, 2056), (40, 8), (7, 3)])
def test_few_rows_give_what_many_give(read: int, given: int) -> None:
    """Results are equal to the bit, for rows of very different sizes."""
    torch.manual_seed(2)
    int8, x = Int8Linear(nn.Linear(read, given)), torch.randn(300, read) * torch.logspace(-20, 9, 300)[:, None]
    together = int8(x)
    for rows in (1, 2, 3, 7, 64, 133):
        assert torch.equal(torch.cat([int8(some) for some in x.split(rows)]), together)


@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 300])
def test_a_row_of_zeros_gives_the_bias(count: int) -> None:
    """Such a row cannot be scaled, nor can one that is hardly larger than zero."""
    linear = nn.Linear(256, 256)
    for size in (0.0, 1e-38, 1e-44):
        assert torch.equal(Int8Linear(linear)(torch.full((count, 256), size)), linear.bias.detach().expand(count, -1))


@torch.inference_mode()
@pytest.mark.parametrize("count", [1, 300])
@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_none(count: int, broken: float) -> None:
    """The rows that have a NaN or infinity, and only those, are not finite, so it shows in the scores."""
    x = torch.randn(count, 256)
    x[-1, 17] = broken
    found = Int8Linear(nn.Linear(256, 256))(x).isfinite()
    assert not found[-1].any()
    assert found[:-1].all()


@torch.inference_mode()
def test_no_rows_give_none() -> None:
    """A batch may be empty."""
    assert Int8Linear(layer())(torch.empty(0, 3, 48)).shape == (0, 3, 40)


@pytest.mark.parametrize("exponent", [-126, -119, -5, 0, 100])
def test_what_was_rounded_rounds_to_the_same(exponent: int) -> None:
    """Integers and scales are the same when rounded again, to the bit, for any largest element of a row."""
    torch.manual_seed(3)
    largest = (1 + torch.arange(2**23) / 2**23) * 2.0**exponent
    rounded, scales = round_rows(torch.stack((largest, (2 * torch.rand(2**23) - 1) * largest), dim=1))
    again, of_them = round_rows(rounded * scales[:, None])
    assert torch.equal(again, rounded)
    assert torch.equal(of_them, scales)


def test_a_row_of_zeros_rounds_to_zeros() -> None:
    """Its scale is not 0, so that it can be divided by."""
    rounded, scales = round_rows(torch.tensor([[0.0, 0.0], [1.0, -1.0]]))
    assert (scales > 0).all()
    assert torch.equal(rounded * scales[:, None], torch.tensor([[0.0, 0.0], [1.0, -1.0]]))


def test_a_cpu_without_vnni_multiplies_as_well(tmp_path: Path) -> None:
    """Values have 7 bits there, so results are within four per cent; rows are independent."""
    code = (
        "from llvmlite import binding; known = binding.get_host_cpu_features; "
        "binding.get_host_cpu_features = lambda: type(known())({**known(), 'avx512vnni': False}); "
        "import torch; from models.network.inference.int8 import Int8Linear; "
        "from models.kernels.machine import LEVELS; assert LEVELS == 63; "
        "linear, x = torch.nn.Linear(200, 70), torch.randn(133, 200); int8 = Int8Linear(linear); "
        "together, expected = int8(x), linear(x).detach(); "
        "assert (together - expected).abs().max() < 0.04 * expected.abs().max(); "
        "assert torch.equal(torch.cat([int8(row) for row in x.split(1)]), together)"
    )
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, check=True)


@pytest.mark.parametrize("count", [1, 5, 17, 64, 65])
def test_nothing_is_written_beside_the_rows(count: int) -> None:
    """Several rows are computed at once, in buffers larger than needed, but nothing outside the result is written."""
    x, room = torch.randn(count, 200).numpy(), np.full((count + 4, 70), 7, np.float32)
    multiply(x, Int8Linear(nn.Linear(200, 70)).arrays, room[2:-2])
    assert (room[[0, 1, -2, -1]] == 7).all()
    assert (room[2:-2] != 7).all()


_HASHED = """
import ctypes, hashlib, sys
import torch, numba
class Refusing:
    syscall = staticmethod(lambda *_: -1)
load, refuses = ctypes.CDLL, sys.argv[1] == "refuses"
if refuses:
    ctypes.CDLL = lambda _: Refusing
from models.kernels.machine import TILES
ctypes.CDLL = load
assert TILES != refuses
from models.network.inference.int8 import Int8Linear
torch.manual_seed(1)
found = Int8Linear(torch.nn.Linear(200, 70))(torch.randn(133, 200))
print(hashlib.sha256(found.numpy().tobytes()).hexdigest())
"""


@pytest.mark.skipif(not TILES, reason="no AMX")
def test_a_process_that_may_not_use_tiles_gives_the_same_bits(tmp_path: Path) -> None:
    """It finds code on disk that was compiled by a process that may use them, and must not run that."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    found = {
        subprocess.check_output([sys.executable, "-c", _HASHED, system], env=environment)
        for system in ("grants", "refuses")
    }
    assert len(found) == 1
