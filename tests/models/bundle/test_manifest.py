import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.bundle.description import describe
from models.bundle.manifest import Manifest
from models.config import GlobalLocalConfig
from models.errors import BundleError
from models.network.architectures.global_local import GlobalLocal
from models.training.checkpoints import load_checkpoint


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    """A copy of a bundle, for a test to damage."""
    return Path(shutil.copytree(bundle, tmp_path / "copy"))


def change(folder: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit a manifest as JSON."""
    values = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    edit(values)
    (folder / "manifest.json").write_text(json.dumps(values), encoding="utf-8")


def test_what_was_learnt_with_following_sentences_serves_no_documents_that_grow(checkpoint: Path) -> None:
    """A model serves sessions only if it has learnt without following sentences, if only some of the time."""
    trained = load_checkpoint(checkpoint)
    serves = {
        causal: describe(
            trained.config,
            trained.tokenizer,
            GlobalLocal(GlobalLocalConfig(causal=causal), trained.config.backbone, 0.0),
        ).serves_sessions
        for causal in (False, True, "both")
    }
    assert serves == {False: False, True: True, "both": True}


def test_the_manifest_says_what_the_bundle_is(bundle: Path) -> None:
    """Languages, window, architecture, vocabulary, limits, licence and attribution are read back."""
    manifest = Manifest.load(bundle)
    assert (manifest.languages.source, manifest.languages.target) == ("ja", "en")
    assert (manifest.window.kind, manifest.window.size) == ("sliding", 2)
    assert (manifest.architecture.kind, manifest.no_context) == ("doc_transformer", "module")
    assert not manifest.reads_target_context
    assert not manifest.vocabulary.joint
    assert (manifest.limits.split_tokens, manifest.limits.source_tokens) == (39, 63)
    assert (manifest.provenance.training_data, manifest.licence, manifest.attribution) == (
        "Made-up words",
        "CC0-1.0",
        "Nobody",
    )
    manifest.verify(bundle)


def test_every_file_has_a_checksum(bundle: Path) -> None:
    """The manifest names every file that is loaded with the bundle, each with its SHA-256."""
    files = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert Manifest.load(bundle).files.keys() == files - {"manifest.json", "README.md"}


@pytest.mark.parametrize("name", ["model.safetensors", "backbone/model.bin", "tokenizer.source.model"])
def test_one_changed_byte_is_refused(copy: Path, name: str) -> None:
    """A file that differs in a single bit is named as damaged."""
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(BundleError, match=f"{name} is damaged: its checksum does not match"):
        Manifest.load(copy).verify(copy)


def test_a_missing_file_is_refused(copy: Path) -> None:
    """A file that was not copied is named."""
    (copy / "backbone/model.bin").unlink()
    with pytest.raises(BundleError, match=r"backbone/model\.bin cannot be read: No such file"):
        Manifest.load(copy).verify(copy)


def test_a_foreign_file_that_loading_would_read_is_refused(copy: Path) -> None:
    """A second tokenizer in the folder is refused; a text about the bundle does no harm."""
    (copy / "README.md").write_text("about it", encoding="utf-8")
    Manifest.load(copy).verify(copy)
    shutil.copy(copy / "tokenizer.source.model", copy / "tokenizer.model")
    with pytest.raises(BundleError, match=r"tokenizer\.model is not part of the bundle"):
        Manifest.load(copy).verify(copy)


@pytest.mark.parametrize("version", [2, 0, "1", None])
def test_an_unknown_format_version_is_refused(copy: Path, version: Any) -> None:
    """Another format version than this release's is named, before anything else is judged."""
    change(copy, lambda values: values.update(format_version=version, new_key="of a later release"))
    with pytest.raises(BundleError, match=rf"has bundle format {version!r}, but this release reads format 1 only"):
        Manifest.load(copy)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda values: values.pop("languages"), "languages: Field required"),
        (lambda values: values["window"].update(size=-1), "window.size: Input should be greater than or equal to 0"),
        (lambda values: values.update(name="team/model"), "name: String should match"),
        (lambda values: values.update(name="m" * 129), "name: String should have at most 128 characters"),
        (lambda values: values.update(colour="red"), "colour: Extra inputs are not permitted"),
        (lambda values: values["files"].update({"../secret": "0" * 64}), "is not the path of a file inside the bundle"),
        (lambda values: values["files"].update({"/etc/passwd": "0" * 64}), "is not the path of a file inside"),
        (lambda values: values["files"].update(notes="abc"), "String should match pattern"),
        (lambda values: values["scores"].update(bleu=float("nan")), "Input should be a finite number"),
    ],
)
def test_a_malformed_manifest_is_refused(copy: Path, edit: Callable[[dict[str, Any]], Any], reason: str) -> None:
    """What is missing, wrong or unknown is named, such as a path out of the bundle or a name no service can unload."""
    change(copy, edit)
    with pytest.raises(BundleError, match=f"manifest.json is malformed: .*{reason}"):
        Manifest.load(copy)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"{", "is not JSON"), (b"\xff{}", "is not JSON"), (b"[1]", "is not a mapping"), (b"[" * 100_000, "is not JSON")],
)
def test_a_manifest_that_is_not_a_mapping_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    """Broken JSON, broken UTF-8, a list, and deep nesting are refused alike."""
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(BundleError, match=f"manifest.json {reason}"):
        Manifest.load(tmp_path)


def test_a_folder_without_manifest_is_no_bundle(tmp_path: Path) -> None:
    """An empty folder, a missing one, a file, and the folder of a run, for which the error suggests its checkpoint."""
    (tmp_path / "file").touch()
    (tmp_path / "run" / "final").mkdir(parents=True)
    for name, reason in (
        (".", "it has no manifest.json$"),
        ("missing", "there is no such folder"),
        ("file", "it has no manifest.json$"),
        ("run", "it has no manifest.json; did you mean .*/run/final"),
    ):
        with pytest.raises(BundleError, match=f"is not a bundle: {reason}"):
            Manifest.load(tmp_path / name)


def test_a_manifest_is_read_without_torch(bundle: Path) -> None:
    """A process that reads manifests and makes requests loads neither torch, CTranslate2 nor SentencePiece."""
    program = f"""
import sys
from pathlib import Path
import models.engine.requests, models.data.documents, models.errors
from models.bundle.manifest import Manifest
Manifest.load(Path({str(bundle)!r})).verify(Path({str(bundle)!r}))
assert not {{"torch", "ctranslate2", "sentencepiece"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
