"""Unpacking a bundle into a checkpoint."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from models.config import (
    ArchitectureConfig,
    ConcatenationConfig,
    DocTransformerConfig,
    Languages,
    RunConfig,
    SentenceConfig,
    TokenizerConfig,
    TrainingConfig,
)
from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError, CheckpointError, ConfigError
from models.export.choices import Choices
from models.export.export import export_bundle
from models.export.unpacking import unpack_bundle
from models.network.architectures.bert import FrozenBert
from models.training.checkpoints import load_checkpoint, load_model
from tests.support.bert import POSITIONS, WIDTH, make_bert, tiny_bert_context
from tests.support.bundles import documents, make_bundle, make_checkpoint

REQUEST = TranslationRequest("からりき、くろ。", (Sentence("きれ。"),))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and its float32 bundle."""
    return _exported(tmp_path_factory.mktemp("exported"))


def _exported(folder: Path, architecture: ArchitectureConfig | None = None) -> tuple[Path, Path]:
    checkpoint = make_checkpoint(folder / "checkpoint", architecture, max_length=96)
    export_bundle(checkpoint, folder / "bundle", "float32", documents=documents())
    return checkpoint, folder / "bundle"


def _run(checkpoint: Path, folder: Path, **values: Any) -> RunConfig:
    """The run of a checkpoint, as somebody has it who has only its configuration."""
    config = load_checkpoint(checkpoint).config
    tokenizer = config.tokenizer.model_copy(update={"path": folder / "tokenizer"})
    return config.model_copy(update={"output": folder / "run", "tokenizer": tokenizer} | values)


def test_what_was_exported_comes_back(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """The checkpoint has the weights, vocabularies and architecture that the bundle was made from."""
    checkpoint, bundle = exported
    was = load_checkpoint(checkpoint)
    config = _run(checkpoint, tmp_path)
    found = load_checkpoint(unpack_bundle(bundle, config))
    assert found.config == config
    assert found.weights.keys() == was.weights.keys()
    assert all(torch.equal(found.weights[name], was.weights[name]) for name in was.weights)
    assert found.tokenizer.source_pieces == was.tokenizer.source_pieces
    assert (tmp_path / "tokenizer" / "tokenizer.source.model").is_file()


def test_a_window_chosen_at_export_is_not_the_runs(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """A bundle that was exported with a larger window is trained further with the window of the run."""
    checkpoint, _ = exported
    export_bundle(checkpoint, tmp_path / "wide", "float32", documents=documents(), choices=Choices(context_sentences=4))
    config = _run(checkpoint, tmp_path)
    assert load_checkpoint(unpack_bundle(tmp_path / "wide", config)).config == config


def test_the_run_of_a_sentence_model_gets_the_backbone(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """The sentence model translates as the bundle does without context; the tokenizer may already exist."""
    checkpoint, bundle = exported
    unpack_bundle(bundle, _run(checkpoint, tmp_path))
    step_one = {"architecture": SentenceConfig(), "training": TrainingConfig(step="sentence", updates=1)}
    sentence = _run(checkpoint, tmp_path, output=tmp_path / "sentence", **step_one)
    bare, options = [TranslationRequest(REQUEST.source)], Options("sentence", beam_size=1)
    runtimes = Runtime.open(unpack_bundle(bundle, sentence)), Runtime.load(bundle)
    one, other = (runtime.translate(bare, options)[0] for runtime in runtimes)
    assert one.text == other.text
    assert one.score == pytest.approx(other.score, abs=1e-4)


def test_bert_is_the_one_that_the_bundle_was_trained_with(tmp_path: Path) -> None:
    """The run names a BERT to train with; one that is not the bundle's is refused when the model is used."""
    bert = make_bert(tmp_path / "bert", "かきくけこらりるれろ、。")
    checksum = FrozenBert(bert, WIDTH, POSITIONS).checksum
    checkpoint, bundle = _exported(tmp_path, tiny_bert_context(bert, bert_checksum=checksum))
    same = _run(checkpoint, tmp_path / "same", architecture=tiny_bert_context(bert))
    found = load_checkpoint(unpack_bundle(bundle, same))
    assert Runtime.of(found.config, found.tokenizer, load_model(found)).translate([REQUEST], Options())
    changed = make_bert(tmp_path / "changed", "かきくけこらりるれろ。、")
    other = _run(checkpoint, tmp_path / "other", architecture=tiny_bert_context(changed))
    wrong = load_checkpoint(unpack_bundle(bundle, other))
    with pytest.raises(ConfigError, match="is not the BERT that the model was trained with"):
        Runtime.of(wrong.config, wrong.tokenizer, load_model(wrong)).translate([REQUEST], Options())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"languages": Languages(source="en", target="ja")}, "its languages are not those of the run"),
        ({"architecture": DocTransformerConfig(context_layers=2)}, "its architecture, or a value of it, differs"),
        ({"backbone": {"width": 64}}, "its backbone has other sizes"),
    ],
)
def test_another_model_is_refused(
    exported: tuple[Path, Path], tmp_path: Path, values: dict[str, Any], problem: str
) -> None:
    """The error says what differs, and nothing is written."""
    checkpoint, bundle = exported
    config = _run(checkpoint, tmp_path)
    if "backbone" in values:
        values = {"backbone": config.backbone.model_copy(update=values["backbone"])}
    with pytest.raises(BundleError, match=problem):
        unpack_bundle(bundle, config.model_copy(update=values))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("own_backbone", [True, False])
@pytest.mark.parametrize("architecture", [SentenceConfig(), DocTransformerConfig(), ConcatenationConfig()])
def test_weights_come_back_wherever_they_are(
    tmp_path: Path, architecture: ArchitectureConfig, own_backbone: bool
) -> None:
    """Weights may be stored separately or in one of two CTranslate2 models, but are never those of another one."""
    values = {"own_backbone": own_backbone, "max_length": 96}
    bundle = make_bundle(tmp_path / "bundle", architecture, quantization="float32", **values)
    checkpoint = tmp_path / "bundle.checkpoint"
    was = load_checkpoint(checkpoint).weights
    found = load_checkpoint(unpack_bundle(bundle, _run(checkpoint, tmp_path / "new"))).weights
    assert found.keys() == was.keys()
    assert all(torch.equal(found[name], was[name]) for name in was)


def test_a_checkpoint_that_is_there_is_left_alone(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """The result of a run that has been trained is not replaced."""
    checkpoint, bundle = exported
    config = _run(checkpoint, tmp_path)
    unpack_bundle(bundle, config)
    with pytest.raises(CheckpointError, match="already exists"):
        unpack_bundle(bundle, config)


def test_a_run_with_checkpoints_is_left_alone(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """The run would resume from those, and replace the unpacked checkpoint by its own final one."""
    checkpoint, bundle = exported
    config = _run(checkpoint, tmp_path)
    shutil.copytree(checkpoint, config.output / "checkpoints" / "update-00000007")
    with pytest.raises(CheckpointError, match="update-00000007: already exists"):
        unpack_bundle(bundle, config)
    assert not config.tokenizer.path.exists()


def test_another_tokenizer_is_left_alone(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """A run's vocabularies are not replaced by the bundle's: other models may have been trained with them."""
    checkpoint, bundle = exported
    config = _run(checkpoint, tmp_path)
    unpack_bundle(bundle, config)
    other = config.model_copy(update={"output": tmp_path / "other"})
    (tmp_path / "tokenizer" / "tokenizer.source.model").write_bytes(b"another one")
    with pytest.raises(CheckpointError, match="another tokenizer"):
        unpack_bundle(bundle, other)
    assert not other.output.exists()


def test_a_run_of_one_vocabulary_refuses_two(exported: tuple[Path, Path], tmp_path: Path) -> None:
    """The run's tokenizer has to fit the model."""
    checkpoint, bundle = exported
    config = _run(checkpoint, tmp_path)
    joint = TokenizerConfig(path=tmp_path / "tokenizer", vocabulary=60, joint=True)
    with pytest.raises(BundleError, match="has two vocabularies, but the run tiny does not"):
        unpack_bundle(bundle, config.model_copy(update={"tokenizer": joint}))
