"""Sinusoidal position encodings that are added to token embeddings."""

import math

import torch
from torch import Tensor

from models.config import BackboneConfig


def position_table(config: BackboneConfig, length: int | None = None) -> Tensor:
    """Return a backbone's position table, (length, D) in float32; `length` defaults to its `max_length`."""
    length = length or config.max_length
    if config.positions == "marian":
        return marian_positions(length, config.width)
    return sinusoidal_positions(length, config.width)


def sinusoidal_positions(length: int, width: int, first: int = 1) -> Tensor:
    """Return CTranslate2's and tensor2tensor's table: [sin | cos], width/2 - 1 timescales, positions from `first`.

    Returns:
        (length, width), float32.
    """
    half = width // 2
    timescales = torch.exp(torch.arange(half) * (-math.log(10000.0) / max(half - 1, 1)))
    return _waves(torch.arange(first, first + length), timescales)


def marian_positions(length: int, width: int) -> Tensor:
    """Return the table of Marian's models in `transformers`: [sin | cos], timescales of Vaswani et al. 2017, from 0.

    Returns:
        (length, width), float32.
    """
    half = width // 2
    timescales = torch.pow(10000.0, -torch.arange(half, dtype=torch.float64) / half)
    return _waves(torch.arange(length), timescales).float()


def _waves(positions: Tensor, timescales: Tensor) -> Tensor:
    angles = positions[:, None] * timescales[None]
    return torch.cat([angles.sin(), angles.cos()], dim=1)
