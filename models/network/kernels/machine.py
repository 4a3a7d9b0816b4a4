"""What this machine's CPU can do with integers of 8 bits."""

import os
from typing import Final

import numpy as np
import torch

_OTHER_CPU: Final = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
"""By which Numba is told to compile for another CPU: it would end the process over instructions that this one lacks."""


def supports_int8() -> bool:
    """Whether there are products for this CPU, an x86 with AVX2, and it is the one that is compiled for."""
    has_avx2 = "x86" in torch.backends.quantized.supported_engines and torch.cpu.get_capabilities().get("avx2", False)
    return bool(has_avx2) and not any(os.environ.get(name) for name in _OTHER_CPU)


def has_vnni() -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits at once (AVX-512 VNNI)."""
    return bool(torch.cpu.get_capabilities().get("avx512_vnni"))


LEVELS: Final = np.float32(127 if has_vnni() else 63)
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
