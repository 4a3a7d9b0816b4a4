"""What this machine's CPU can do with integers of 8 bits."""

from typing import Final

from llvmlite.binding import get_host_cpu_features
from numba import config


def supports_int8() -> bool:
    """Whether there are kernels for this CPU: an x86 with AVX2, and with F16C, which goes with it.

    And whether it is this one that Numba compiles for: told of another, it would end the process over instructions
    which that one lacks.
    """
    told = vars(config)  # Numba defines them while it is imported, from the environment
    return bool(
        _has("avx2")
        and _has("f16c")
        and told["ENABLE_AVX"]
        and told["CPU_NAME"] is None
        and told["CPU_FEATURES"] is None
    )


def has_vnni() -> bool:
    """Whether this CPU adds products of 8-bit integers in 32 bits at once, 64 of them (AVX-512 VNNI)."""
    return _has("avx512vnni")


def _has(feature: str) -> bool:
    """Whether LLVM, which compiles for it, knows the CPU to have this."""
    return bool(get_host_cpu_features().get(feature, False))


VNNI: Final = has_vnni()
LEVELS: Final = 127 if VNNI else 63
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
LANES: Final = 16 if _has("avx512f") else 8
"""Floats in a register: of AVX-512, or of AVX2."""
