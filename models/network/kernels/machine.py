"""What this machine's CPU can do with integers of 8 bits."""

from typing import Final

import numpy as np
import torch
from numba import config


def supports_int8() -> bool:
    """Whether there are products for this CPU: an x86 with AVX2.

    And whether it is this one that Numba compiles for: told of another, it would end the process over instructions
    which that one lacks.
    """
    has_avx2 = "x86" in torch.backends.quantized.supported_engines and torch.cpu.get_capabilities().get("avx2", False)
    told = vars(config)  # Numba defines them while it is imported, from the environment
    return bool(has_avx2 and told["ENABLE_AVX"] and told["CPU_NAME"] is None and told["CPU_FEATURES"] is None)


def has_vnni() -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits at once (AVX-512 VNNI)."""
    return bool(torch.cpu.get_capabilities().get("avx512_vnni"))


LEVELS: Final = np.float32(127 if has_vnni() else 63)
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
