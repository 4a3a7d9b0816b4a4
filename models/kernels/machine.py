"""What this machine's CPU can do with integers of 8 bits."""

import ctypes
import sys
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


def has_tiles() -> bool:
    """Whether this CPU multiplies tiles of 8-bit integers (AMX), and this process may.

    Linux lets a process use the registers, eight kilobytes to be kept for each of its threads, once it has asked for
    them: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), see its Documentation/arch/x86/xstate.rst.
    """
    if not (has_vnni() and _has("amx-int8") and _has("amx-tile") and sys.platform == "linux"):
        return False
    arch_prctl, ask, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, ask, tile_data) == 0)


def _has(feature: str) -> bool:
    """Whether LLVM, which compiles for it, knows the CPU to have this."""
    return bool(get_host_cpu_features().get(feature, False))


VNNI: Final = has_vnni()
TILES: Final = has_tiles()
LEVELS: Final = 127 if VNNI else 63
"""The largest integer of an activation: without VNNI two products are added in 16 bits, which holds 7 bits times 8."""
LANES: Final = 16 if _has("avx512f") else 8
"""Floats in a register: of AVX-512, or of AVX2."""
