"""Loops in Python as machine code, by Numba: compiled when first called, half a minute for all, then kept on disk."""

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
"""What is done in floats is done in the order in which it is written: the same bits wherever it is compiled into."""

inlined: Final = njit(inline="always", **_EXACT)
"""A function that is put where others call it."""
part: Final = njit(**_EXACT | {"no_cpython_wrapper": True})
"""A function that only compiled ones may call: what takes arguments from Python is not compiled, and is long.

A process that calls it from Python dies.
"""

_SOURCES: Final = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()
"""What is kept on disk is worth nothing once one of these has changed."""


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """A function of arrays, compiled for their types, and kept where there is a place for it.

    Args:
        function: writes its results into its arguments.
    """
    try:
        kernel: Any = njit(cache=True, **_EXACT)(function)
        # Numba looks at the file of a function alone, and not at those of the functions that it calls. The names tell
        # them apart, too: an index that is written before its machine code must not lead to what was there before.
        cache = kernel._cache  # noqa: SLF001
        # CPUs of several kinds may share a folder, and numbers of files in it: each kind has names of its own.
        # Nor may a process that was refused tiles load what one that has them has compiled.
        cpu = sha256(repr((kernel.targetctx.codegen().magic_tuple(), TILES)).encode()).hexdigest()
        name = f"{cache._impl.filename_base}-{_SOURCES[:16]}-{cpu[:8]}"  # noqa: SLF001
        cache._cache_file = IndexDataCacheFile(cache.cache_path, name, _SOURCES)  # type: ignore[no-untyped-call]  # noqa: SLF001
    except RuntimeError:  # no folder that can be written to
        kernel = njit(**_EXACT)(function)

    @wraps(function)
    def call(*arguments: object) -> None:
        try:
            kernel(*arguments)
        except OSError:  # the disk has no room to keep it, or what is kept may not be read
            kernel._cache.disable()  # noqa: SLF001
            kernel(*arguments)
        except (EOFError, UnpicklingError):  # a loss of power has cut what is kept
            with suppress(OSError):  # else the next process finds it as it is
                kernel._cache.flush()  # noqa: SLF001
            kernel._cache.disable()  # noqa: SLF001
            kernel(*arguments)

    return call
