"""What this machine's CPU can do with 8-bit integers."""

import ctypes
import sys
from typing import Final

from llvmlite.binding import get_host_cpu_features
from numba import config


def supports_int8() -> bool:
    """Return whether the kernels can run here: on an x86 CPU with AVX2 and F16C, which comes with it.

    Numba must also compile for this very CPU: configured for another one, it would end the process over instructions
    which that one lacks.
    """
    told = vars(config)  # Numba sets these from the environment on import
    return bool(
        _has("avx2")
        and _has("f16c")
        and told["ENABLE_AVX"]
        and told["CPU_NAME"] is None
        and told["CPU_FEATURES"] is None
    )


def has_vnni() -> bool:
    """Return whether this CPU can add 64 products of 8-bit integers into 32-bit sums at once (AVX-512 VNNI)."""
    return _has("avx512vnni")


def has_tiles() -> bool:
    """Return whether this CPU multiplies tiles of 8-bit integers (AMX), and whether this process may use them.

    The tile registers add eight kilobytes to the state of each thread, so Linux lets a process use them only once it
    has asked: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), see its Documentation/arch/x86/xstate.rst.
    """
    if not (has_vnni() and _has("amx-int8") and _has("amx-tile") and sys.platform == "linux"):
        return False
    arch_prctl, ask, tile_data = 158, 0x1023, 18
    return bool(ctypes.CDLL(None).syscall(arch_prctl, ask, tile_data) == 0)


def _has(feature: str) -> bool:
    """Return whether LLVM, which compiles for this CPU, reports the feature."""
    return bool(get_host_cpu_features().get(feature, False))


VNNI: Final = has_vnni()
TILES: Final = has_tiles()
LEVELS: Final = 127 if VNNI else 63
"""The largest integer for an activation; without VNNI, two products are added in 16 bits, so it has 7 bits, not 8."""
LANES: Final = 16 if _has("avx512f") else 8
"""Floats in a register of AVX-512, or else of AVX2."""
