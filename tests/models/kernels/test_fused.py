import logging

import pytest
import torch

from models.kernels.fused import has_fused_kernels


def test_without_a_gpu_decoding_goes_on_without_its_kernels(caplog: pytest.LogCaptureFixture) -> None:
    """Whether Triton, a compiler or a device is missing, one line says so, once."""
    missing = torch.device("cuda", 40)
    with caplog.at_level(logging.WARNING):
        assert not has_fused_kernels(missing)
        assert not has_fused_kernels(missing)
    (record,) = caplog.records
    assert record.getMessage().startswith("decoding goes on without fused kernels, and more slowly: ")
    assert "\n" not in record.getMessage()


def test_a_cpu_has_kernels_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """A CPU does not use the fused kernels, and needs no warning about that."""
    assert not has_fused_kernels(torch.device("cpu"))
    assert not caplog.records
