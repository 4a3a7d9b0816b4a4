"""What this machine's CPU can do with integers of 8 bits."""

from typing import Final

import numpy as np
import torch


def supports_int8() -> bool:
    """Whether there are products for this CPU: an x86 with AVX2."""
    return "x86" in torch.backends.quantized.supported_engines and bool(torch.cpu.get_capabilities().get("avx2"))


def has_vnni() -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits at once (AVX-512 VNNI)."""
    return bool(torch.cpu.get_capabilities().get("avx512_vnni"))


LEVELS: Final = np.float32(127 if has_vnni() else 63)
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
