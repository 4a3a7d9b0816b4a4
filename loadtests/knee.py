"""The highest rate at which all is still well."""

from collections.abc import Callable
from math import sqrt


def find_knee(holds: Callable[[float], bool], first: float, *, step: float = 1.5, precision: float = 1.1) -> float:
    """Try rates, each `step` times the last, until one is too high; then search between it and the last that was not.

    `precision` is the ratio of a rate that is too high to the one that is given, at most; 0 if none holds down to an
    eighth of the first.
    """
    low, high = 0.0, first
    while holds(high):
        low, high = high, high * step
    while not low:
        high /= 2
        if high < first / 8:
            return 0.0
        if holds(high):
            low, high = high, high * 2
    while high / low > precision:
        middle = sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
