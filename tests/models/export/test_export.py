import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from models.__main__ import main
from models.bundle.conversion import convert_backbone
from models.bundle.manifest import WEIGHTS, Manifest
from models.bundle.weights import model_weights
from models.config import ArchitectureConfig, ConcatenationConfig, ContextWindow, Provenance, SentenceConfig
from models.data.documents import Document, Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError, CheckpointError, ConfigError, DataError
from models.export import writing
from models.export.choices import Choices
from models.export.export import export_bundle
from models.network.model import TranslationModel
from models.network.transformer import Transformer
from models.training.checkpoints import Progress, load_checkpoint, save_checkpoint, weights_of
from tests.support.bundles import documents, make_bundle, make_checkpoint


def test_every_weight_is_in_the_bundle_once(bundle: Path, model: TranslationModel) -> None:
    """A float32 bundle has the checkpoint's exact weights: the backbone's in CTranslate2, the others separately."""
    apart, trained = load_file(bundle / WEIGHTS), weights_of(model)
    assert apart.keys() == {name for name in trained if not name.startswith("backbone.")}
    stored = model_weights(bundle, Manifest.load(bundle), model)
    assert stored.keys() == trained.keys()
    assert all(torch.equal(stored[name], trained[name]) for name in trained)


def test_beside_another_sentence_model_all_weights_are_apart(tmp_path: Path) -> None:
    """The backbone of another sentence model cannot stand for the model's own."""
    bundle = make_bundle(tmp_path / "bundle", own_backbone=False)
    assert load_file(bundle / WEIGHTS).keys() >= load_checkpoint(tmp_path / "bundle.checkpoint").weights.keys()


def test_equal_weights_may_be_another_model(tmp_path: Path) -> None:
    """With another number of heads, the same matrices compute something else, so weights are stored separately."""
    trained = load_checkpoint(make_checkpoint(tmp_path / "two"))
    config = load_checkpoint(tmp_path / "two.step-one").config
    other = config.model_copy(update={"backbone": config.backbone.model_copy(update={"heads": 2})})
    backbone = {name: tensor for name, tensor in trained.weights.items() if name.startswith("backbone.")}
    save_checkpoint(tmp_path / "other", other, trained.tokenizer, backbone, Progress())
    export_bundle(tmp_path / "two", tmp_path / "bundle", documents=documents(), sentence=tmp_path / "other")
    assert load_file(tmp_path / "bundle" / WEIGHTS).keys() >= trained.weights.keys()


@pytest.mark.parametrize("architecture", [SentenceConfig(), ConcatenationConfig()])
def test_a_model_without_modules_has_its_weights_in_ctranslate2_alone(
    tmp_path: Path, architecture: ArchitectureConfig
) -> None:
    """It is the same model with and without context, so there is one file of weights."""
    files = Manifest.load(make_bundle(tmp_path / "bundle", architecture)).files
    assert {name for name in files if name.endswith((".bin", ".safetensors"))} == {"backbone/model.bin"}


@pytest.mark.parametrize("quantization", ["int8", "float16"])
def test_a_rounded_bundle_is_smaller_and_translates(
    checkpoint: Path, bundle: Path, tmp_path: Path, quantization: Any
) -> None:
    """Each file of weights is less than three quarters as large, and both strategies translate."""
    made = export_bundle(checkpoint, tmp_path / "out", quantization, documents=documents())
    assert made == Manifest.load(tmp_path / "out")
    for name in ("model.safetensors", "backbone/model.bin"):
        assert (tmp_path / "out" / name).stat().st_size < 0.75 * (bundle / name).stat().st_size
    runtime = Runtime.load(tmp_path / "out", compute_type="float32")
    for strategy in ("direct", "sentence"):
        assert runtime.translate([TranslationRequest("からりき、くろ。")], Options(strategy))[0].tokens > 0


def test_provenance_and_scores_are_written_down(checkpoint: Path, tmp_path: Path) -> None:
    """The manifest has what the run says about its data, and the scores that the caller gives."""
    export_bundle(checkpoint, tmp_path / "out", documents=documents(), scores={"dev.bleu": 12.5})
    manifest = Manifest.load(tmp_path / "out")
    assert manifest.provenance == load_checkpoint(checkpoint).config.provenance != Provenance()
    assert manifest.scores == {"dev.bleu": 12.5}


def test_decoding_may_be_chosen_after_training(checkpoint: Path, tmp_path: Path) -> None:
    """The alpha and the patience that are best on a dev set become the bundle's own."""
    export_bundle(checkpoint, tmp_path / "out", documents=documents(), choices=Choices(alpha=1.2, patience=1.5))
    trained = load_checkpoint(checkpoint).config.decoding
    assert Manifest.load(tmp_path / "out").decoding == trained.model_copy(update={"alpha": 1.2, "patience": 1.5})


def test_the_window_may_be_chosen_after_training(checkpoint: Path, bundle: Path, tmp_path: Path) -> None:
    """A Doc-Transformer reads as many sentences as are best on a dev set: here the third one before, too."""
    export_bundle(checkpoint, tmp_path / "out", "float32", documents=documents(), choices=Choices(context_sentences=3))
    assert Manifest.load(tmp_path / "out").window == ContextWindow(size=3)
    near = (Sentence("きれ。"), Sentence("くろ。"))
    scores = {
        (folder.name, third): Runtime.load(folder).score(
            [TranslationRequest("からり。", (Sentence(third), *near))], ["kara"]
        )
        for folder in (bundle, tmp_path / "out")
        for third in ("こり。", "けら。")
    }
    assert scores[bundle.name, "こり。"] == scores[bundle.name, "けら。"]
    assert scores["out", "こり。"] != scores["out", "けら。"]


def test_a_window_of_weights_is_not_chosen_anew(tmp_path: Path) -> None:
    """Architectures whose weights depend on the window read as many sentences as in training."""
    checkpoint = make_checkpoint(tmp_path / "checkpoint", ConcatenationConfig())
    with pytest.raises(ConfigError, match="concatenation always reads as many sentences as in training"):
        export_bundle(checkpoint, tmp_path / "out", documents=documents(), choices=Choices(context_sentences=3))
    assert not (tmp_path / "out").exists()


def exchange_keys_and_values(backbone: Transformer, *arguments: Any) -> None:
    """Convert with a mistake in one layer."""
    projection = backbone.decoder[0].source_attention.key_value.weight
    right = projection.detach().clone()
    with torch.no_grad():
        projection.copy_(right.roll(len(right) // 2, 0))
        convert_backbone(backbone, *arguments)
        projection.copy_(right)


def test_a_wrong_conversion_is_refused(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the converted backbone does not compute what torch does, no bundle is written and nothing is left behind."""
    monkeypatch.setattr(writing, "convert_backbone", exchange_keys_and_values)
    with pytest.raises(BundleError, match="disagrees with the checkpoint, so no bundle is written: log-probabilities"):
        export_bundle(checkpoint, tmp_path / "out", "float32", documents=documents())
    assert list(tmp_path.iterdir()) == []


def test_a_failed_check_is_told_from_wrong_input(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1 if the checkpoint is sound but its bundle would not be, and 2 for wrong input."""
    for side in ("source", "target"):
        lines = [getattr(sentence, side) for document in documents() for sentence in document.sentences]
        (tmp_path / side).write_text("\n".join(lines), encoding="utf-8")
    sentences = ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "target")]
    command = ["models", "export", str(checkpoint), "--out", str(tmp_path / "out"), *sentences]
    monkeypatch.setattr(writing, "convert_backbone", exchange_keys_and_values)
    for given, status in ((command, 1), ([*command[:2], str(tmp_path / "missing"), *command[3:]], 2)):
        monkeypatch.setattr(sys, "argv", given)
        assert main() == status
        assert capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "out").exists()


def test_a_quantised_backbone_that_is_worse_is_refused(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quantised model that is shipped is compared, too, not only its float32 twin."""

    def only_float32_is_right(backbone: Transformer, source: Any, target: Any, folder: Path, quantization: Any) -> None:
        convert = convert_backbone if quantization == "float32" else exchange_keys_and_values
        convert(backbone, source, target, folder, quantization)

    monkeypatch.setattr(writing, "convert_backbone", only_float32_is_right)
    with pytest.raises(BundleError, match="in int8, the backbone changed the mean log-probability"):
        export_bundle(checkpoint, tmp_path / "out", "int8", documents=documents())
    assert list(tmp_path.iterdir()) == []


def test_weights_that_bear_no_rounding_are_shipped_in_float32(tmp_path: Path) -> None:
    """A weight much larger than the others in its row leaves those no precision in int8; the error says what to do."""
    trained = load_checkpoint(make_checkpoint(tmp_path / "checkpoint"))
    for name, tensor in trained.weights.items():
        if name.endswith("feed_forward.inner.bias"):
            tensor[0] = -1e4  # this unit is 0 after the activation
        elif name.endswith("feed_forward.outer.weight"):
            tensor[:, 0] = 1e3
    save_checkpoint(tmp_path / "rough", trained.config, trained.tokenizer, trained.weights, Progress())
    with pytest.raises(BundleError, match=r"try --quantization float32, and serve .*ANTECEDENT_COMPUTE_TYPE=float32"):
        export_bundle(tmp_path / "rough", tmp_path / "out", "int8", documents=documents())
    export_bundle(tmp_path / "rough", tmp_path / "out", "float32", documents=documents())


def test_without_sentences_there_is_no_bundle(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a dev set at hand, or with sentences without translations, the error says what is missing."""
    monkeypatch.setenv("ANTECEDENT_DATA", str(tmp_path))
    with pytest.raises(BundleError, match="the run has no dev set: give sentences"):
        export_bundle(checkpoint, tmp_path / "out")
    with pytest.raises(DataError, match="no sentence pair"):
        export_bundle(checkpoint, tmp_path / "out", documents=[Document((Sentence("から"),))])


def test_only_a_bundle_is_replaced(checkpoint: Path, tmp_path: Path) -> None:
    """Exporting again replaces the earlier bundle as a whole; a folder with anything else is left alone."""
    out = tmp_path / "out"
    for _ in range(2):
        export_bundle(checkpoint, out, documents=documents())
        assert not (out / "note").exists()
        (out / "note").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").touch()
    with pytest.raises(BundleError, match="already exists and is not a bundle"):
        export_bundle(checkpoint, tmp_path / "work", documents=documents())
    assert (tmp_path / "work" / "thesis.txt").exists()


def test_the_current_folder_is_not_replaced(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, the shell that is in it would be in a folder that no longer exists."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BundleError, match="the current folder"):
        export_bundle(checkpoint, Path(), documents=documents())


def test_a_bundle_that_cannot_be_replaced_stays(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the new one cannot take its place, the old one stays as it was, and nothing else is left."""
    out, rename = tmp_path / "out", Path.rename
    before = export_bundle(checkpoint, out, documents=documents())

    def fails(path: Path, target: Path) -> Path:
        if path.suffix == ".partial":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(BundleError, match="cannot be written: Input/output error"):
        export_bundle(checkpoint, out, documents=documents())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    Manifest.load(out).verify(out)
    assert Manifest.load(out) == before


def test_what_killed_exports_have_left_goes(checkpoint: Path, tmp_path: Path) -> None:
    """Folders that another export is writing stay; a bundle that was moved aside comes back if its place is empty."""
    out, gone, running = tmp_path / "out", 10**9, os.getppid()
    export_bundle(checkpoint, out, documents=documents())
    out.rename(tmp_path / f".out.{gone}.former")
    for name in (f".out.{gone}.partial", f".out.{running}.partial", f".out.{running}.former"):
        (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="no sentence pair"):
        export_bundle(checkpoint, out, documents=[Document((Sentence("から"),))])
    Manifest.load(out).verify(out)
    kept = {"out", f".out.{running}.partial", f".out.{running}.former"}
    assert {path.name for path in tmp_path.iterdir()} == kept
    (tmp_path / f".out.{gone}.former").mkdir()
    export_bundle(checkpoint, out, documents=documents())
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """An empty folder is no checkpoint."""
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        export_bundle(tmp_path, tmp_path / "out")
