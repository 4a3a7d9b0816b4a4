"""Trains runs as the command line does."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from models.config import RunConfig
from models.data.tokenizer import Tokenizer
from models.engine.requests import Options
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from models.network.model import TranslationModel
from models.training import run


def train(config: RunConfig, **arguments: Any) -> Path:
    """Train a run to its final checkpoint; arguments as for `models.training.run.train`."""
    return run.train(config, candidate, **arguments)


def candidate(config: RunConfig, tokenizer: Tokenizer, model: TranslationModel) -> WindowTranslator:
    """Wrap a model in training as a greedy translator."""
    return WindowTranslator(Runtime.of(config, tokenizer, model), Options(beam_size=1))


def weights(folder: Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint."""
    return load_file(folder / "model.safetensors")


def assert_same_weights(one: Path, other: Path) -> None:
    """Check that both checkpoints have bit-identical tensors."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
