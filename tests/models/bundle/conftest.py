"""The checkpoint of the tiny bundle that tests of models share."""

from pathlib import Path

import pytest

from models.network.model import TranslationModel
from models.training.checkpoints import load_checkpoint, load_model


@pytest.fixture(scope="session")
def checkpoint(bundle: Path) -> Path:
    """The checkpoint that `bundle` was exported from."""
    return bundle.with_name("tiny.checkpoint")


@pytest.fixture
def model(checkpoint: Path) -> TranslationModel:
    """The checkpoint's model, a new one for each test."""
    return load_model(load_checkpoint(checkpoint))
