"""Tunes what the C library does with memory that decoding steps have freed."""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 128 << 20
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20
"""The maximum on a 64-bit system; see mallopt(3)."""


def keep_freed_memory() -> None:
    """Have this process reuse memory that it has freed, up to 128 MiB, instead of returning it to the kernel.

    Each step makes and frees tensors of a few MiB; by default, glibc has the kernel map, zero and unmap their pages
    every time. With another C library, nothing is changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
