"""Loops in Python as machine code, by Numba: compiled when first called (a second or two), then kept on disk."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit


def compiled(function: Callable[..., None], **options: Any) -> Callable[..., None]:  # noqa: ANN401 - Numba's
    """A function of arrays, compiled for their types, and kept where there is a place for it.

    Args:
        function: writes its results into its arguments.
        options: of `numba.njit`.
    """
    try:
        kernel: Callable[..., None] = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that can be written to
        kernel = njit(**options)(function)

    @wraps(function)
    def call(*arguments: object) -> None:
        try:
            kernel(*arguments)
        except OSError:  # it is compiled, but the disk has no room to keep it
            kernel(*arguments)

    return call
