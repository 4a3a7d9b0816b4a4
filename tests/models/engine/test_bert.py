"""BERT in a bundle."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree, rmtree

import pytest
import torch
from torch import Tensor

from models.bundle.bert import write_bert
from models.bundle.manifest import Manifest, Quantization
from models.data.batches import pad
from models.data.documents import Sentence
from models.engine.bert import BundledBert
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError
from models.export.export import export_bundle
from models.kernels.machine import supports_int8
from models.network.architectures.bert import FrozenBert
from models.network.pretrained import PretrainedEncoder
from tests.support.bert import POSITIONS, WIDTH, make_bert, tiny_bert_context, with_activation
from tests.support.bundles import documents, make_checkpoint

LETTERS = "かきくけこらりるれろ、。"
TEXTS = ["かりきる、くら。", "か", "", "こらこらこらこらけれけれけれけれ"]
LONG = "からきりくる、" * 12
WITHOUT_TRANSFORMERS = """
import sys
sys.modules["transformers"] = None
from pathlib import Path
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.data.documents import Sentence
request = TranslationRequest("かりきる。", (Sentence("くら。"),))
print(Runtime.load(Path(sys.argv[1])).translate([request], Options())[0].text)
"""


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random BERT, with one embedding more than it has pieces."""
    return make_bert(tmp_path_factory.mktemp("bert"), LETTERS, vocab_size=5 + 2 * len(LETTERS) + 1)


@pytest.fixture(scope="module")
def exported(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and its bundle; the folder of the BERT that they were made with has been removed."""
    folder = tmp_path_factory.mktemp("exported")
    own = copytree(bert, folder / "own")
    config = tiny_bert_context(own, context_sentences=2)
    checkpoint = make_checkpoint(folder / "checkpoint", config, max_tokens=24, max_length=160)
    export_bundle(checkpoint, folder / "bundle", "float16", documents=documents())
    rmtree(own)
    return checkpoint, folder / "bundle"


def bundled(folder: Path, compute_type: str = "float32") -> BundledBert:
    """The BERT that `write_bert` has written."""
    return BundledBert(folder, "cpu", compute_type, 1)


def rows_of(encoder: PretrainedEncoder) -> list[list[int]]:
    """The token ids of some texts, shifted by one, which begin with the control piece, so that none is empty."""
    return [[1 + number for number in (encoder.wordpiece.begin, *ids)] for ids in encoder.wordpiece.encode(TEXTS)]


def states_differ(one: PretrainedEncoder, other: PretrainedEncoder) -> float:
    """The largest difference between the states of two encoders, on single texts and on all in one batch."""
    rows = rows_of(one)
    batches = [*([row] for row in rows), rows]
    return max(float((one.states(pad(batch)) - other.states(pad(batch))).abs().max()) for batch in batches)


def test_in_floats_it_is_the_one_of_training(bert: Path, tmp_path: Path) -> None:
    """All states are the same, with and without padding, and so is the vocabulary."""
    encoder = FrozenBert(bert, WIDTH, POSITIONS)
    write_bert(encoder, tmp_path, "float32")
    found = bundled(tmp_path)
    assert states_differ(encoder, found) < 1e-5
    assert found.wordpiece.encode(TEXTS) == encoder.wordpiece.encode(TEXTS)


@pytest.mark.parametrize("quantization", ["float16", "int8"])
def test_rounding_is_close_and_not_equal(bert: Path, tmp_path: Path, quantization: Quantization) -> None:
    """As the comparison detects rounding, it would also detect mistakes."""
    encoder = FrozenBert(bert, WIDTH, POSITIONS)
    write_bert(encoder, tmp_path, quantization)
    assert 1e-5 < states_differ(encoder, bundled(tmp_path)) < (0.05 if quantization == "float16" else 0.2)


@pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")
@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_int8_is_close_and_each_text_its_own(bert: Path, tmp_path: Path, activation: str) -> None:
    """A text has the same states alone and among others, to the bit, and zeros for padding."""
    encoder = FrozenBert(with_activation(bert, activation, tmp_path / "bert"), WIDTH, POSITIONS)
    write_bert(encoder, tmp_path / "out", "int8")
    found = bundled(tmp_path / "out", "int8")
    assert 1e-5 < states_differ(encoder, found) < 0.2
    rows = rows_of(found)
    together = found.states(pad(rows))
    for row, states in zip(rows, together, strict=True):
        assert torch.equal(found.states(torch.tensor([row]))[0], states[: len(row)])
        assert not states[len(row) :].any()


def test_a_bundle_says_nothing_of_where_it_was_trained(exported: tuple[Path, Path]) -> None:
    """A bundle has its own BERT, with checksums, and names no folder that training used."""
    manifest = Manifest.load(exported[1])
    assert manifest.architecture.bert == Path("bert")
    assert {"bert/model.safetensors", "bert/config.json", "bert/tokenizer.json"} < manifest.files.keys()
    assert str(exported[0].parent) not in (exported[1] / "manifest.json").read_text(encoding="utf-8")


def test_a_bundle_is_served_without_transformers(exported: tuple[Path, Path]) -> None:
    """A process that cannot import the package can translate."""
    command = [sys.executable, "-W", "error", "-c", WITHOUT_TRANSFORMERS, str(exported[1])]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("name", ["bert/model.safetensors", "bert/tokenizer.json", "bert/config.json"])
def test_a_damaged_bert_is_refused(exported: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    """One of its files may be changed or missing, or there may be another one that would be read."""
    bundle = copytree(exported[1], tmp_path / "bundle")
    (bundle / name).write_bytes(b"{")
    with pytest.raises(BundleError, match=f"{name} is damaged"):
        Runtime.load(bundle)
    with pytest.raises(BundleError, match="bert: "):
        bundled(bundle / "bert")
    (bundle / name).unlink()
    with pytest.raises(BundleError, match=f"{name} cannot be read"):
        Runtime.load(bundle)
    another = copytree(exported[1], tmp_path / "another")
    (another / "bert" / "vocab.txt").write_text("a\n", encoding="utf-8")
    with pytest.raises(BundleError, match=r"bert/vocab\.txt is not part of the bundle"):
        Runtime.load(another)


def test_a_sentence_in_parts_has_its_context_in_each(
    exported: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """BERT reads each group of clauses that is translated together after the preceding sentence."""
    runtime = Runtime.load(exported[1], compute_type="float32")
    seen: list[list[int]] = []
    states = BundledBert.states

    def note(self: BundledBert, tokens: Tensor) -> Tensor:
        seen.extend(row[row > 0].sub(1).tolist() for row in tokens)
        return states(self, tokens)

    monkeypatch.setattr(BundledBert, "states", note)
    found = runtime.translate([TranslationRequest(LONG, (Sentence("くら。"),))], Options())
    assert found[0].context_size == 1
    (before,) = bundled(exported[1] / "bert").wordpiece.encode(["くら。"])
    assert len(seen) > 0
    assert {tuple(row[: len(before) + 2]) for row in seen} == {(2, *before, 3)}
    clause = bundled(exported[1] / "bert").wordpiece.encode(["からきりくる、"])[0]
    assert all((len(row) - len(before) - 3) % len(clause) == 0 for row in seen)
    assert max(map(len, seen)) <= POSITIONS


def test_no_sentence_is_too_long_for_bert(exported: tuple[Path, Path]) -> None:
    """BERT reads only as much of a long sentence as it has positions; context without room is not counted."""
    runtime = Runtime.load(exported[1], compute_type="float32")
    sentence = "か " * POSITIONS
    found = runtime.translate([TranslationRequest(sentence, (Sentence("くら。"),))], Options())[0]
    assert found.tokens
    assert found.context_size == 0
