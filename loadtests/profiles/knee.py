"""The search for the highest rate at which all is still well."""

from collections.abc import Callable
from math import sqrt

_STEP = 1.5
"""Each rate is this many times the last, until one is too high."""
_PRECISION = 1.1
"""The search ends when a rate that is too high is at most this many times the one found."""


def find_knee(holds: Callable[[float], bool], first: float) -> float:
    """Try higher and higher rates until one is too high; then search between it and the last that was not.

    Returns 0 if no rate holds, down to an eighth of the first.
    """
    low, high = 0.0, first
    while holds(high):
        low, high = high, high * _STEP
    while not low:
        high /= 2
        if high < first / 8:
            return 0.0
        if holds(high):
            low, high = high, high * 2
    while high / low > _PRECISION:
        middle = sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
