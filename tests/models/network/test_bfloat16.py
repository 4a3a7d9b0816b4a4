"""A device that only emulates bfloat16 is not taken for one that computes in it."""

from contextlib import nullcontext

import pytest
import torch

from models.engine.computation import resolve_compute_type
from models.errors import BundleError
from models.network.bfloat16 import computes_bfloat16

GPU = torch.device("cuda")


@pytest.mark.parametrize(("major", "computes"), [(7, False), (8, True)])
def test_gpu_before_ampere_has_none(major: int, computes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch says that a T4 supports bfloat16, but it is emulated; `auto` means float32 there."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    properties = type("Properties", (), {"major": major})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    assert computes_bfloat16(GPU) == computes
    assert resolve_compute_type("auto", "cuda") == ("bfloat16" if computes else "float32")


@pytest.mark.parametrize(
    "error", [torch.AcceleratorError("CUDA error: invalid device ordinal\nhint"), AssertionError("Invalid device id")]
)
def test_gpu_that_is_not_there_is_said_to_be_none(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one GPU has no `cuda:1`: with `auto`, too, this is an error that the user can fix."""

    def refuse(_device: torch.device) -> nullcontext[None]:
        raise error

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device", refuse)
    with pytest.raises(BundleError) as found:
        resolve_compute_type("auto", "cuda:1")
    assert str(found.value) == f"device 'cuda:1' cannot be used: {str(error).partition(chr(10))[0]}"


@pytest.mark.parametrize("instruction", ["avx512_bf16", "amx_bf16", "avx512_f"])
def test_cpu_has_it_by_its_instructions(instruction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AVX-512 alone is not enough."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {instruction: True})
    assert computes_bfloat16(torch.device("cpu")) == instruction.endswith("bf16")
