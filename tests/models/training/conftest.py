"""Fixtures that tests of training share."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.config import load_config
from models.training.run import make_tokenizer
from tests.support.training import train


@pytest.fixture
def one_thread() -> None:
    """Use one thread, so that sums are in the same order as in other processes with one thread."""
    torch.set_num_threads(1)


@pytest.fixture
def run(make_run: Callable[..., Path]) -> Path:
    """The folder of a run with a few checkpoints that differ from each other."""
    config = load_config(make_run(training={"updates": 4, "schedule": {"peak": 0.01, "warmup": 1}}))
    make_tokenizer(config)
    return train(config).parent
