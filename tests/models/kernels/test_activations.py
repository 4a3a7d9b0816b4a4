"""Activation functions, applied to many numbers at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numba import njit
from torch import Tensor

from models.kernels.activations import GELU, GELU_TANH, RELU, SWISH, activate, sigmoid
from models.network.layers import ACTIVATIONS


@njit
def activated(rows: Any, activation: int) -> None:
    """Apply an activation to each row, as compiled functions do."""
    for row in rows:
        activate(row, len(row), activation)


FUNCTIONS: dict[str, tuple[Callable[..., None], tuple[int, ...], Callable[[Tensor], Tensor]]] = {
    "relu": (activated, (RELU,), ACTIVATIONS["relu"]),
    "gelu": (activated, (GELU,), ACTIVATIONS["gelu"]),
    "gelu_tanh": (activated, (GELU_TANH,), ACTIVATIONS["gelu_tanh"]),
    "swish": (activated, (SWISH,), ACTIVATIONS["swish"]),
    "sigmoid": (sigmoid, (), torch.sigmoid),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_those_of_torch(name: str) -> None:
    """They are equal in rows of any width, for numbers of any size."""
    function, arguments, expected = FUNCTIONS[name]
    for width in (1, 15, 16, 17, 100):
        numbers = torch.cat([torch.linspace(-most, most, 25 * width) for most in (8, 100)]).view(50, width)
        found = numbers.numpy().copy()
        function(found, *arguments)
        assert torch.allclose(torch.from_numpy(found), expected(numbers.double()).float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_number_stays_none(name: str) -> None:
    """A NaN stays NaN and changes no other number; zeros give what torch gives for them."""
    function, arguments, expected = FUNCTIONS[name]
    given = np.array([[0.0, np.nan, -0.0, 3.0]], np.float32)
    found = given.copy()
    function(found, *arguments)
    assert np.isnan(found).tolist() == [[False, True, False, False]]
    assert torch.allclose(torch.from_numpy(found), expected(torch.from_numpy(given)), atol=1e-6, equal_nan=True)
