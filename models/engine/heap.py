"""What the C library does with memory that a step of decoding has freed."""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 128 << 20
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20
"""Of a 64-bit system; see mallopt(3)."""


def keep_freed_memory() -> None:
    """Have this process use again what it has freed, up to 128 MiB, in place of giving it back and asking for it anew.

    Each step makes and frees tensors of a few MiB, and glibc has pages of them mapped, zeroed and unmapped by the
    kernel every time. Where the C library is another one, nothing is changed.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
