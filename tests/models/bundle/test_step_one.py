"""The sentence model that a context model was trained from."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.bundle.step_one import sentence_model, sentence_model_of
from models.config import Languages, SentenceConfig
from models.data.tokenizer import Tokenizer
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.self_test import self_test
from models.errors import BundleError, CheckpointError, UnsupportedOptionError
from models.export.export import export_bundle
from models.network.architectures.doc_transformer import DocTransformer
from models.network.context import Architecture
from models.training.checkpoints import load_checkpoint, load_model, save_checkpoint
from tests.support.bundles import documents, make_checkpoint

REQUEST = TranslationRequest("からりき、くろ。")
GREEDY = Options(beam_size=1)
"""A beam search with context drops hypotheses that repeat themselves, and CTranslate2's does not."""


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A checkpoint of step two whose backbone has moved on since step one."""
    folder = make_checkpoint(tmp_path / "two")
    checkpoint = load_checkpoint(folder)
    moved = {n: w + 0.5 if n == "backbone.encoder_norm.bias" else w for n, w in checkpoint.weights.items()}
    shutil.rmtree(folder)
    save_checkpoint(folder, checkpoint.config, checkpoint.tokenizer, moved, checkpoint.progress)
    return folder


@pytest.fixture
def trains_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the architecture declare the backbone as trained in step two, too."""
    monkeypatch.setattr(DocTransformer, "trains", lambda self, parameter: True)


def test_a_backbone_that_was_frozen_is_shared(trained: Path) -> None:
    """If step two leaves the backbone alone, there is one copy of its weights."""
    checkpoint = load_checkpoint(trained)
    model = load_model(checkpoint)
    sentence = sentence_model_of(checkpoint, model)
    assert sentence is not None
    assert sentence.backbone is model.backbone
    assert type(sentence.architecture) is Architecture


@pytest.mark.usefixtures("trains_everything")
def test_a_backbone_that_was_trained_on_is_not_the_sentence_model(trained: Path, tmp_path: Path) -> None:
    """Translations without context are those of step one, from the checkpoint and from the bundle alike."""
    step_one = Runtime.open(tmp_path / "two.step-one").translate([REQUEST], GREEDY)
    export_bundle(trained, tmp_path / "bundle", "float32", documents=documents())
    for folder in (trained, tmp_path / "bundle"):
        (found,) = Runtime.open(folder).translate([REQUEST], replace(GREEDY, strategy="sentence"))
        assert found.text == step_one[0].text
        assert found.score == pytest.approx(step_one[0].score, abs=1e-4)
    weights = [
        load_checkpoint(path).weights["backbone.encoder_norm.bias"] for path in (trained, tmp_path / "two.step-one")
    ]
    assert not torch.equal(*weights)


def test_a_backbone_that_was_unfrozen_is_not_the_sentence_model(trained: Path, tmp_path: Path) -> None:
    """The sentence model of a third step is the one that the second step began with."""
    checkpoint = load_checkpoint(trained)
    training = checkpoint.config.training.model_copy(update={"unfreeze": True})
    tuned = replace(checkpoint, config=checkpoint.config.model_copy(update={"training": training}))
    sentence = sentence_model_of(tuned, load_model(tuned))
    assert sentence is not None
    step_one = load_checkpoint(tmp_path / "two.step-one").weights["backbone.encoder_norm.bias"]
    assert torch.equal(sentence.backbone.get_parameter("encoder_norm.bias"), step_one)


def test_sentence_model_of_a_fourth_step_is_that_of_the_first(trained: Path, tmp_path: Path) -> None:
    """A step that takes over everything has the sentence model of the step before, however many there are."""
    folder, two = trained, load_checkpoint(trained)  # the backbone of step one, which step two leaves as it is
    for number in (3, 4):
        before = load_checkpoint(folder)
        values = {"unfreeze": True, "transfer": "all", "init": folder}
        training = before.config.training.model_copy(update=values)
        moved = {n: w + 0.5 if n == "backbone.encoder_norm.bias" else w for n, w in before.weights.items()}
        config = before.config.model_copy(update={"training": training})
        folder = tmp_path / str(number)
        save_checkpoint(folder, config, before.tokenizer, moved, before.progress)
    four = load_checkpoint(folder)
    sentence = sentence_model_of(four, load_model(four))
    assert sentence is not None
    found = sentence.backbone.get_parameter("encoder_norm.bias")
    assert torch.equal(found, two.weights["backbone.encoder_norm.bias"])


@pytest.mark.usefixtures("trains_everything")
def test_without_step_one_nothing_is_exported_and_context_is_still_served(trained: Path, tmp_path: Path) -> None:
    """Export says what is missing; the checkpoint itself translates with context only."""
    shutil.rmtree(tmp_path / "two.step-one")
    with pytest.raises(CheckpointError, match=r"two\.step-one"):
        export_bundle(trained, tmp_path / "bundle", documents=documents())
    runtime = Runtime.open(trained)
    assert runtime.translate([REQUEST], Options())[0].tokens > 0
    with pytest.raises(
        UnsupportedOptionError, match=r"there is no sentence model: .*two\.step-one: is not a checkpoint"
    ):
        runtime.translate([REQUEST], Options("sentence"))


def test_a_model_from_scratch_has_no_sentence_model(trained: Path, tmp_path: Path) -> None:
    """Its bundle has no backbone, and offers translation with context only."""
    checkpoint = load_checkpoint(trained)
    training = checkpoint.config.training.model_copy(update={"step": "joint", "init": None})
    config = checkpoint.config.model_copy(update={"training": training})
    scratch = replace(checkpoint, config=config)
    assert sentence_model_of(scratch, load_model(scratch)) is None
    save_checkpoint(tmp_path / "scratch", config, scratch.tokenizer, scratch.weights, scratch.progress)
    manifest = export_bundle(tmp_path / "scratch", tmp_path / "bundle", documents=documents())
    assert not manifest.has_backbone
    runtime = Runtime.load(tmp_path / "bundle")
    assert runtime.translate([REQUEST], Options())[0].tokens > 0
    with pytest.raises(UnsupportedOptionError, match="offers direct"):
        runtime.translate([REQUEST], Options("sentence"))
    self_test(runtime)  # no worker serves a bundle that fails it


def test_another_sentence_model_beside_a_context_model(tmp_path: Path) -> None:
    """Export takes the one that is named, such as one that was trained for as long as the context model."""
    two, beside = make_checkpoint(tmp_path / "two"), make_checkpoint(tmp_path / "beside", SentenceConfig())
    checkpoint = load_checkpoint(beside)
    moved = {n: w + 0.5 if n == "backbone.encoder_norm.bias" else w for n, w in checkpoint.weights.items()}
    shutil.rmtree(beside)
    save_checkpoint(beside, checkpoint.config, checkpoint.tokenizer, moved, checkpoint.progress)
    export_bundle(two, tmp_path / "bundle", "float32", documents=documents(), sentence=beside)
    runtime = Runtime.open(tmp_path / "bundle")
    (expected,) = Runtime.open(beside).translate([REQUEST], GREEDY)
    (found,) = runtime.translate([REQUEST], replace(GREEDY, strategy="sentence"))
    assert (found.text, found.score) == (expected.text, pytest.approx(expected.score, abs=1e-4))
    (direct,) = Runtime.open(two).translate([REQUEST], GREEDY)
    assert runtime.translate([REQUEST], GREEDY)[0].text == direct.text
    (own,) = Runtime.open(two).translate([REQUEST], replace(GREEDY, strategy="sentence"))
    assert found.score != pytest.approx(own.score, abs=1e-4)


def test_a_tuned_backbone_can_be_the_sentence_model(trained: Path, tmp_path: Path) -> None:
    """If the checkpoint itself is named, export takes its backbone, even if a later step has changed that."""
    export_bundle(trained, tmp_path / "bundle", "float32", documents=documents(), sentence=trained)
    checkpoint = load_checkpoint(trained)
    bare = sentence_model(load_model(checkpoint))
    expected = Runtime.of(checkpoint.config, checkpoint.tokenizer, load_model(checkpoint), bare)
    texts = [
        runtime.translate([REQUEST], Options("sentence")) for runtime in (expected, Runtime.open(tmp_path / "bundle"))
    ]
    assert texts[0][0].text == texts[1][0].text
    assert texts[0][0].score == pytest.approx(texts[1][0].score, abs=1e-4)


def test_a_sentence_model_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """One with other vocabularies, fewer positions or other languages is refused, and no bundle is written."""
    two = make_checkpoint(tmp_path / "two")
    joint = make_checkpoint(tmp_path / "joint", SentenceConfig(), embeddings="shared")
    short = make_checkpoint(tmp_path / "short", SentenceConfig(), max_length=48)
    back = make_checkpoint(tmp_path / "back", SentenceConfig())
    checkpoint = load_checkpoint(back)
    turned = checkpoint.config.model_copy(update={"languages": Languages(source="en", target="ja")})
    shutil.rmtree(back)
    save_checkpoint(back, turned, checkpoint.tokenizer, checkpoint.weights, checkpoint.progress)
    refused = {joint: "the same vocabularies", short: "fewer positions", back: "the same languages"}
    for folder, reason in refused.items():
        with pytest.raises(BundleError, match=reason):
            export_bundle(two, tmp_path / "bundle", documents=documents(), sentence=folder)
    assert not (tmp_path / "bundle").exists()


@pytest.mark.usefixtures("trains_everything")
def test_a_step_one_that_was_trained_anew_is_not_the_sentence_model(trained: Path, tmp_path: Path) -> None:
    """The checkpoint that is now in its place may be of anything, so the model translates with context only."""
    checkpoint = load_checkpoint(trained)
    began = replace(checkpoint, progress=replace(checkpoint.progress, init="another checksum"))
    with pytest.raises(CheckpointError, match="has been trained again since"):
        sentence_model_of(began, load_model(began))
    shutil.rmtree(trained)
    save_checkpoint(trained, began.config, began.tokenizer, began.weights, began.progress)
    runtime = Runtime.open(trained)
    assert runtime.translate([REQUEST], Options())[0].tokens > 0
    with pytest.raises(UnsupportedOptionError, match=r"there is no sentence model: .*has been trained again since"):
        runtime.translate([REQUEST], Options("sentence"))


@pytest.mark.usefixtures("trains_everything")
def test_a_model_with_other_words_is_not_the_sentence_model(trained: Path, tmp_path: Path) -> None:
    """Step two may start from an encoder alone, and have a target vocabulary of its own."""
    checkpoint = load_checkpoint(trained)
    exchanged = replace(checkpoint, tokenizer=Tokenizer(checkpoint.tokenizer.target, checkpoint.tokenizer.source))
    assert sentence_model_of(exchanged, load_model(checkpoint)) is None
