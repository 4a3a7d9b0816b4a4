"""What emulates bfloat16 is not taken for what computes in it."""

from contextlib import nullcontext

import pytest
import torch

from models.bundle.computation import resolve_compute_type
from models.network.bfloat16 import computes_bfloat16

GPU = torch.device("cuda")


@pytest.mark.parametrize(("major", "computes"), [(7, False), (8, True)])
def test_gpu_before_ampere_has_none(major: int, computes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By torch a T4 supports it, by emulation; `auto` is float32 there, to train and to serve."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    properties = type("Properties", (), {"major": major})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    assert computes_bfloat16(GPU) == computes
    assert resolve_compute_type("auto", "cuda") == ("bfloat16" if computes else "float32")


@pytest.mark.parametrize("instruction", ["avx512_bf16", "amx_bf16", "avx512_f"])
def test_cpu_has_it_by_its_instructions(instruction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AVX-512 alone is not enough."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {instruction: True})
    assert computes_bfloat16(torch.device("cpu")) == instruction.endswith("bf16")
