"""The highest rate at which all is still well."""

from collections.abc import Callable
from math import sqrt

_STEP = 1.5
"""Each rate is so many times the last, until one is too high."""
_PRECISION = 1.1
"""At most, the ratio of a rate that is too high to the one that is found."""


def find_knee(holds: Callable[[float], bool], first: float) -> float:
    """Try higher and higher rates until one is too high; then search between it and the last that was not.

    0 if none holds down to an eighth of the first.
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
