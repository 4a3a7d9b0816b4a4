"""BERT in a bundle."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree, rmtree

import pytest
import torch
from torch import Tensor

from models.bundle.manifest import Manifest
from models.data.batches import pad
from models.data.documents import Sentence
from models.engine.bert import EXACT_STATES, ConvertedBert, convert_bert, states_differ
from models.engine.computation import ctranslate2_type
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError
from models.export.export import export_bundle
from models.network.architectures.bert import FrozenBert
from tests.support.bert import POSITIONS, WIDTH, make_bert, tiny_bert_context
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
    """A small random BERT, which knows one piece fewer than it has embeddings."""
    return make_bert(tmp_path_factory.mktemp("bert"), LETTERS, vocab_size=5 + 2 * len(LETTERS) + 1)


@pytest.fixture(scope="module")
def exported(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and its bundle, with the BERT of training gone."""
    folder = tmp_path_factory.mktemp("exported")
    own = copytree(bert, folder / "own")
    config = tiny_bert_context(own, context_sentences=2)
    checkpoint = make_checkpoint(folder / "checkpoint", config, max_tokens=24, max_length=160)
    export_bundle(checkpoint, folder / "bundle", "float16", documents=documents())
    rmtree(own)
    return checkpoint, folder / "bundle"


def converted(folder: Path) -> ConvertedBert:
    """What `convert_bert` has written."""
    return ConvertedBert(folder, "cpu", "float32", 1)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_converted_is_the_torch_one(bert: Path, tmp_path: Path, activation: str) -> None:
    """All states in float32, with and without padding, whatever the activation."""
    copy = copytree(bert, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text(encoding="utf-8")) | {"hidden_act": activation}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    encoder = FrozenBert(copy, WIDTH, POSITIONS)
    convert_bert(encoder, tmp_path / "out", "float32")
    found = converted(tmp_path / "out")
    assert states_differ(encoder, found, TEXTS) < EXACT_STATES / 5
    assert found.wordpiece.encode(TEXTS) == encoder.wordpiece.encode(TEXTS)
    padded = found.states(torch.tensor([[3, 4, 0, 0, 0], [3, 6, 7, 4, 0]]))
    assert padded.shape == (2, 5, WIDTH)
    assert not padded[0, 2:].any()


def test_half_precision_is_close_and_not_equal(bert: Path, tmp_path: Path) -> None:
    """A comparison that finds rounding finds mistakes; the tokenizer's settings come along."""
    encoder = FrozenBert(bert, WIDTH, POSITIONS)
    convert_bert(encoder, tmp_path, "float16")
    assert EXACT_STATES / 5 < states_differ(encoder, converted(tmp_path), TEXTS) < 0.05


def test_int8_is_close_and_each_text_its_own(bert: Path, tmp_path: Path) -> None:
    """Where the CPU has no exact sums of bytes it is float32; a text has the same states alone and among others."""
    encoder = FrozenBert(bert, WIDTH, POSITIONS)
    convert_bert(encoder, tmp_path, "float32")
    found = ConvertedBert(tmp_path, "cpu", "int8", 1)
    differ = states_differ(encoder, found, TEXTS)
    assert differ < EXACT_STATES if ctranslate2_type("int8", "cpu") == "float32" else EXACT_STATES < differ < 0.2
    rows = [[1 + number for number in ids] for ids in found.wordpiece.encode(TEXTS) if ids]
    together = found.states(pad(rows))
    for row, states in zip(rows, together, strict=True):
        assert torch.equal(found.states(torch.tensor([row]))[0], states[: len(row)])


def test_what_cannot_be_converted_is_refused(bert: Path, tmp_path: Path) -> None:
    """An activation that CTranslate2 does not know."""
    encoder = FrozenBert(bert, WIDTH, POSITIONS)
    encoder.model.config.hidden_act = "mish"
    with pytest.raises(BundleError, match="'mish'"):
        convert_bert(encoder, tmp_path, "float32")


def test_a_bundle_says_nothing_of_where_it_was_trained(exported: tuple[Path, Path]) -> None:
    """Its BERT is its own, with checksums, and needs no folder of training."""
    manifest = Manifest.load(exported[1])
    assert manifest.architecture.bert == Path("bert")
    assert {"bert/model.bin", "bert/config.json", "bert/tokenizer.json"} < manifest.files.keys()
    assert str(exported[0].parent) not in (exported[1] / "manifest.json").read_text(encoding="utf-8")


def test_a_bundle_is_served_without_transformers(exported: tuple[Path, Path]) -> None:
    """A process that cannot import the package translates."""
    command = [sys.executable, "-W", "error", "-c", WITHOUT_TRANSFORMERS, str(exported[1])]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("name", ["bert/model.bin", "bert/tokenizer.json"])
def test_a_damaged_bert_is_refused(exported: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    """A file of it that is changed or gone, or one more that would be read."""
    bundle = copytree(exported[1], tmp_path / "bundle")
    (bundle / name).write_bytes(b"{")
    with pytest.raises(BundleError, match=f"{name} is damaged"):
        Runtime.load(bundle)
    with pytest.raises(BundleError, match="cannot be loaded"):
        converted(bundle / "bert")
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
    """BERT reads the clauses that are translated together, each time after the preceding sentence."""
    runtime = Runtime.load(exported[1], compute_type="float32")
    seen: list[list[int]] = []
    states = ConvertedBert.states

    def note(self: ConvertedBert, tokens: Tensor) -> Tensor:
        seen.extend(row[row > 0].sub(1).tolist() for row in tokens)
        return states(self, tokens)

    monkeypatch.setattr(ConvertedBert, "states", note)
    found = runtime.translate([TranslationRequest(LONG, (Sentence("くら。"),))], Options())
    assert found[0].context_size == 1
    (before,) = converted(exported[1] / "bert").wordpiece.encode(["くら。"])
    assert len(seen) > 0
    assert {tuple(row[: len(before) + 2]) for row in seen} == {(2, *before, 3)}
    clause = converted(exported[1] / "bert").wordpiece.encode(["からきりくる、"])[0]
    assert all((len(row) - len(before) - 3) % len(clause) == 0 for row in seen)
    assert max(map(len, seen)) <= POSITIONS


def test_no_sentence_is_too_long_for_bert(exported: tuple[Path, Path]) -> None:
    """Of what has more pieces than it has positions it reads the beginning; context without room is not counted."""
    runtime = Runtime.load(exported[1], compute_type="float32")
    sentence = "か " * POSITIONS
    found = runtime.translate([TranslationRequest(sentence, (Sentence("くら。"),))], Options())[0]
    assert found.tokens
    assert found.context_size == 0
