"""Position encodings, as rows of sinusoids."""

import math

import pytest
import torch
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from models.config import BackboneConfig
from models.network.positions import marian_positions, position_table, sinusoidal_positions


def test_positions_are_sines_then_cosines_from_one() -> None:
    """Row p has sin and cos of p + 1 over wavelengths from 2 pi to 10000 x 2 pi."""
    table = sinusoidal_positions(5, 8)
    timescales = [10000 ** (-i / 3) for i in range(4)]
    for p, row in enumerate(table.tolist()):
        expected = [math.sin((p + 1) * t) for t in timescales] + [math.cos((p + 1) * t) for t in timescales]
        assert row == pytest.approx(expected, abs=1e-6)


def test_those_of_marian_are_those_of_transformers() -> None:
    """Marian's positions count from 0, with the timescales of the paper."""
    theirs = MarianSinusoidalPositionalEmbedding(300, 64)
    assert torch.allclose(marian_positions(300, 64), theirs.create_weight(), atol=1e-6)


def test_a_backbone_has_the_one_that_it_asks_for() -> None:
    """The table is as long as `max_length`, unless another length is asked for."""
    shape = BackboneConfig(width=8, max_length=16)
    assert torch.equal(position_table(shape), sinusoidal_positions(16, 8))
    of_marian = shape.model_copy(update={"positions": "marian"})
    assert torch.equal(position_table(of_marian, 40), marian_positions(40, 8))
