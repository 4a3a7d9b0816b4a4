"""Averaging checkpoints: those of one run, and those of several runs that started from the same weights."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from models.__main__ import app
from models.config import load_config
from models.errors import CheckpointError, ConfigError
from models.training.averaging import average, average_runs
from models.training.checkpoints import list_checkpoints, load_checkpoint, load_model
from models.training.run import make_tokenizer
from tests.models.conftest import BACKBONE
from tests.support.training import train

NAME = "backbone.target_embedding.weight"
SCHEDULE = {"peak": 0.01, "warmup": 1}
"""With a lower rate, weights would hardly differ after a few updates."""


@pytest.fixture
def twins(run: Path, make_run: Callable[..., Path]) -> list[Path]:
    """The final checkpoints of two runs that started from the same checkpoint, with different seeds."""
    went_on = {"init": str(run / "final"), "updates": 3, "schedule": SCHEDULE}
    return [
        train(load_config(make_run(f"twin-{seed}", training=went_on | {"seed": seed}))).parent / "final"
        for seed in (1, 2)
    ]


def _weights(folder: Path) -> torch.Tensor:
    return load_file(folder / "model.safetensors")[NAME]


def test_average_is_the_mean(run: Path) -> None:
    """Averaging gives the arithmetic mean of each tensor."""
    folders = list_checkpoints(run)[-3:]
    expected = torch.stack([_weights(folder) for folder in folders]).mean(0)
    torch.testing.assert_close(average(folders)[NAME], expected)


def test_average_of_runs_is_a_checkpoint(twins: list[Path], tmp_path: Path) -> None:
    """It has the name of the first run, and the mean weights; a checkpoint that is given twice counts twice."""
    done = CliRunner().invoke(app, ["average", *map(str, (*twins, twins[0])), "--out", str(tmp_path / "soup")])
    assert done.exit_code == 0, done.output
    average_runs(twins, tmp_path / "named", "broth")
    assert load_checkpoint(tmp_path / "named").config.name == "broth"
    with pytest.raises(ConfigError, match="name"):
        average_runs(twins, tmp_path / "nowhere", "a/b")
    assert not (tmp_path / "nowhere").exists()
    soup = load_checkpoint(tmp_path / "soup")
    first, second = map(_weights, twins)
    assert not torch.equal(first, second)
    torch.testing.assert_close(soup.weights[NAME], (2 * first + second) / 3)
    assert soup.config.name == load_checkpoint(twins[0]).config.name
    load_model(soup)


def test_sentence_model_has_a_part_in_the_backbone(run: Path, make_run: Callable[..., Path], tmp_path: Path) -> None:
    """A model with context is averaged with a sentence model from the same start; its context modules stay."""
    context = {"kind": "doc_transformer", "context_sentences": 2}
    went_on = {"init": str(run / "final"), "updates": 3, "schedule": SCHEDULE}
    document = went_on | {"step": "document", "unfreeze": True}
    both = train(load_config(make_run("document", architecture=context, training=document))).parent / "final"
    sentence = train(load_config(make_run("sentence", training=went_on)))
    average_runs([both, sentence], tmp_path / "soup")
    soup, one = (load_checkpoint(folder).weights for folder in (tmp_path / "soup", both))
    torch.testing.assert_close(soup[NAME], (_weights(both) + _weights(sentence)) / 2)
    assert all(torch.equal(soup[name], one[name]) for name in one if name.startswith("architecture."))
    assert soup.keys() == one.keys()
    with pytest.raises(CheckpointError, match="its network differs"):
        average_runs([sentence, both], tmp_path / "other")


def test_unlike_runs_have_no_average(twins: list[Path], make_run: Callable[..., Path], tmp_path: Path) -> None:
    """Another network, another vocabulary, and an existing output are refused, and nothing is written."""
    out = tmp_path / "soup"
    wider = {"width": 32, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "max_length": 64}
    other_network = train(load_config(make_run("wide", backbone=wider, training={"updates": 1})))
    with pytest.raises(CheckpointError, match="its network differs from that of the first checkpoint, in backbone"):
        average_runs([twins[0], other_network], out)
    curved = BACKBONE | {"activation": "gelu"}
    with pytest.raises(CheckpointError, match=r"first checkpoint, in backbone\.activation"):
        average_runs([twins[0], train(load_config(make_run("gelu", backbone=curved, training={"updates": 1})))], out)
    words = {"path": str(tmp_path / "other"), "vocabulary": 55, "byte_fallback": False}
    config = load_config(make_run("words", tokenizer=words, training={"updates": 1}))
    make_tokenizer(config)
    with pytest.raises(CheckpointError, match="its vocabulary differs"):
        average_runs([twins[0], train(config)], out)
    assert not out.exists()
    out.mkdir()
    with pytest.raises(CheckpointError, match="already exists"):
        average_runs(twins, out)
