"""Python loops compiled by Numba on their first call (half a minute for all of them), then cached on disk."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from hashlib import sha256
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

from numba import njit
from numba.core.caching import IndexDataCacheFile

from models.kernels.machine import TILES

_EXACT: Final[dict[str, Any]] = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""Float operations keep the order in which they are written, so the bits are the same wherever they are inlined."""

inlined: Final = njit(inline="always", **_EXACT)
"""Decorator: the function is inlined where others call it."""
part: Final = njit(**_EXACT | {"no_cpython_wrapper": True})
"""Decorator: only compiled functions may call it; the wrapper for calls from Python, slow to compile, is left out.

A process that calls such a function from Python dies.
"""

_SOURCES: Final = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
"""A hash of all kernels' sources; the cache on disk is out of date once one of them has changed."""


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Compile a function of arrays for their types, and cache it on disk if there is a place for it.

    Args:
        function: writes its results into its arguments.
    """
    try:
        kernel: Any = njit(cache=True, **_EXACT)(function)
        # Numba checks only the file of the function itself, not those of the functions it calls, hence the hash of all.
        # It is in the file names as well: an index that is written before its machine code must not lead to old code.
        cache = kernel._cache  # noqa: SLF001
        # CPUs of several kinds may share a cache folder, so each kind has its own file names: Numba's numbers of files
        # could clash. Nor may a process that was refused tiles load what a process that has them compiled.
        cpu = sha256(repr((kernel.targetctx.codegen().magic_tuple(), TILES)).encode()).hexdigest()
        name = f"{cache._impl.filename_base}-{_SOURCES[:16]}-{cpu[:8]}"  # noqa: SLF001
        cache._cache_file = IndexDataCacheFile(cache.cache_path, name, _SOURCES)  # type: ignore[no-untyped-call]  # noqa: SLF001
    except RuntimeError:  # there is no writable folder
        kernel = njit(**_EXACT)(function)

    @wraps(function)
    def call(*arguments: object) -> None:
        try:
            kernel(*arguments)
        except OSError:  # the disk is full, or the cache may not be read
            kernel._cache.disable()  # noqa: SLF001
            kernel(*arguments)
        except (EOFError, UnpicklingError):  # a power loss has truncated the cache
            with suppress(OSError):  # otherwise the next process finds it damaged, too
                kernel._cache.flush()  # noqa: SLF001
            kernel._cache.disable()  # noqa: SLF001
            kernel(*arguments)

    return call
