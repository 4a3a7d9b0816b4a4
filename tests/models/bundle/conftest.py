"""Tiny bundles that several test files share; exporting one takes a second."""

from pathlib import Path

import pytest
import torch

from models.bundle.runtime import Runtime
from models.network.model import TranslationModel
from models.training.checkpoints import load_checkpoint, load_model
from tests.support.bundles import make_bundle


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 bundle of a Doc-Transformer that reads two sentences; its checkpoint is beside it."""
    torch.set_num_threads(1)
    return make_bundle(tmp_path_factory.mktemp("bundles") / "tiny", quantization="float32")


@pytest.fixture(scope="session")
def checkpoint(bundle: Path) -> Path:
    """The checkpoint that `bundle` was exported from."""
    return bundle.with_name("tiny.checkpoint")


@pytest.fixture(scope="session")
def runtime(bundle: Path) -> Runtime:
    """The bundle, loaded."""
    return Runtime.load(bundle, compute_type="float32")


@pytest.fixture
def model(checkpoint: Path) -> TranslationModel:
    """The checkpoint's model, a new one for each test."""
    return load_model(load_checkpoint(checkpoint))
