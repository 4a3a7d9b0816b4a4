"""e^x for many numbers at once, which the library's function is not computed for."""

# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201 - what Numba compiles has the types that it is called with

import numpy as np
from numba import njit


@njit(inline="always")
def exponentials(numbers, bits, count):
    """Put e^x in place of each of the first `count` numbers x, nought or less; `bits` is room for as many int32.

    e^x = 2^n e^r with r within log(2) / 2 of nought, where a polynomial (Cephes, `expf`) is right to the last bit but
    one.
    """
    for s in range(count):
        x = max(numbers[s], np.float32(-87.0))
        n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
        r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
        p = np.float32(1.9875691500e-4)
        p = p * r + np.float32(1.3981999507e-3)
        p = p * r + np.float32(8.3334519073e-3)
        p = p * r + np.float32(4.1665795894e-2)
        p = p * r + np.float32(1.6666665459e-1)
        p = p * r + np.float32(5.0000001201e-1)
        numbers[s] = p * r * r + r + np.float32(1.0)
        bits[s] = (np.int32(n) + np.int32(127)) << np.int32(23)
    powers = bits.view(np.float32)
    for s in range(count):
        numbers[s] *= powers[s]
