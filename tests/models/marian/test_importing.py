"""An imported Marian model computes what `transformers` computes with it."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor
from transformers import MarianTokenizer

from models.data.batches import make_batch
from models.data.replacement import Vocabulary
from models.data.tokenizer import BOS, PAD
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import CheckpointError, ConfigError, DataError
from models.export.export import export_bundle
from models.marian.importing import import_marian
from models.network.positions import marian_positions
from models.training.checkpoints import load_checkpoint, load_model
from tests.support.bundles import documents
from tests.support.command_line import run
from tests.support.marian import BACKBONE, PIECES, make_marian, marian_run

SENTENCES = [sentence for document in documents() for sentence in document.sentences]
SOURCES, TARGETS = [s.source for s in SENTENCES], [s.target or "" for s in SENTENCES]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder, and the `transformers` model in it."""
    folder = tmp_path_factory.mktemp("marian") / "opus-mt"
    return folder, make_marian(folder, SOURCES, TARGETS)


@pytest.fixture(scope="module")
def imported(marian: tuple[Path, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint that it was imported into."""
    return import_marian(marian[0], marian_run(tmp_path_factory.mktemp("imported")))


@pytest.fixture
def copy(marian: tuple[Path, Any], tmp_path: Path) -> Path:
    """A copy of the folder, for a test to change."""
    return Path(shutil.copytree(marian[0], tmp_path / "copy"))


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_pieces_are_those_of_transformers(marian: tuple[Path, Any], imported: Path) -> None:
    """Text of both languages has the pieces of Marian's own tokenizer, apart from the end of the sentence."""
    theirs, ours = MarianTokenizer.from_pretrained(marian[0]), load_checkpoint(imported).tokenizer
    for text, target in zip(SOURCES, TARGETS, strict=True):
        found = [ours.source_pieces[i] for i in ours.encode_source(text)]
        assert [*found, "</s>"] == theirs.convert_ids_to_tokens(theirs(text).input_ids)
        found = [ours.target_pieces[i] for i in ours.encode_target(target)]
        assert [*found, "</s>"] == theirs.convert_ids_to_tokens(theirs(text_target=target).input_ids)
        assert ours.decode_target(ours.encode_target(target)) == target


@torch.inference_mode()
def test_logits_are_those_of_transformers(marian: tuple[Path, Any], imported: Path) -> None:
    """They are equal for every possible target piece at every position; padding and <s> have no probability."""
    numbers, theirs = json.loads((marian[0] / "vocab.json").read_text(encoding="utf-8")), marian[1]
    checkpoint = load_checkpoint(imported)
    tokenizer, ours = checkpoint.tokenizer, load_model(checkpoint)
    rows = [numbers[piece] for piece in tokenizer.target_pieces[BOS + 1 :]]
    for source, target in zip(SOURCES, TARGETS, strict=True):
        read, said = tokenizer.encode_source(source), tokenizer.encode_target(target)
        batch = make_batch([read], [said], {})
        assert batch.target is not None
        found = ours.logits(ours.hidden(batch, batch.target[:, :-1]))[0]
        ids = [numbers[piece] for piece in tokenizer.source.encode(source, out_type=str)] + [numbers["</s>"]]
        began = [numbers["<pad>"], *(rows[i - BOS - 1] for i in said)]
        expected = theirs(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([began])).logits[0]
        assert torch.allclose(found[:, BOS + 1 :], expected[:, rows], atol=1e-4)
        assert (found.softmax(1)[:, [PAD, BOS]] < 1e-20).all()


def test_decoding_begins_with_what_the_model_says(copy: Path, imported: Path, tmp_path: Path) -> None:
    """Marian begins with zeros, but in models that were trained further, the embedding has often changed."""
    piece = load_checkpoint(imported).tokenizer.target_pieces[-1]
    number = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))[piece]
    _change_json("config.json", decoder_start_token_id=number)(copy)
    found = load_checkpoint(import_marian(copy, marian_run(tmp_path))).weights
    assert torch.equal(found["backbone.target_embedding.weight"][BOS], found["backbone.target_embedding.weight"][-1])
    assert not load_checkpoint(imported).weights["backbone.target_embedding.weight"][BOS].any()


def test_it_is_exported_and_served(imported: Path, tmp_path: Path) -> None:
    """Its bundle is like any other: CTranslate2 and the engine give the checkpoint's scores, in int8 nearly so."""
    export_bundle(imported, tmp_path / "float32", "float32", documents=documents())
    export_bundle(imported, tmp_path / "int8", documents=documents())
    requests = [TranslationRequest(source) for source in SOURCES[:8]]
    expected = Runtime.open(imported, compute_type="float32").score(requests, TARGETS[:8])
    near = ("float32", "sentence", 1e-4), ("float32", "direct", 1e-4), ("int8", "direct", 0.03)
    for kind, strategy, part in near:
        runtime = Runtime.load(tmp_path / kind, compute_type=kind)
        found = runtime.score(requests, TARGETS[:8], Options(strategy))
        assert found == pytest.approx(expected, rel=part)


def test_command_line(marian: tuple[Path, Any], tmp_path: Path) -> None:
    """The command says where the checkpoint is; for a run of another size, it gives one line and status 2."""
    run_file = tmp_path / "run.yaml"
    values = marian_run(tmp_path).model_dump(mode="json")
    run_file.write_text(json.dumps(values), encoding="utf-8")
    done = run("import-marian", marian[0], run_file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"checkpoint: {tmp_path / 'run' / 'final'}, tokenizer: {tmp_path / 'tokenizer'}\n"
    values["backbone"]["heads"], values["output"] = 2, str(tmp_path / "other")
    run_file.write_text(json.dumps(values), encoding="utf-8")
    refused = run("import-marian", marian[0], run_file)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "error: the run imported is not one of this model: backbone.heads is 2, and has to be 4\n"


def test_older_files_are_the_same(copy: Path, imported: Path, tmp_path: Path) -> None:
    """OPUS-MT models were published in torch's format, with positions, and tied weights under every name."""
    weights = load_file(copy / "model.safetensors")
    tied = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
    weights |= dict.fromkeys(tied, weights["model.shared.weight"])
    table = marian_positions(BACKBONE.max_length, BACKBONE.width)
    weights |= {f"model.{side}.embed_positions.weight": table for side in ("encoder", "decoder")}
    torch.save(weights, copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    found, expected = (
        load_checkpoint(import_marian(copy, marian_run(tmp_path))).weights,
        load_checkpoint(imported).weights,
    )
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_each_language_may_have_numbers_of_its_own(tmp_path: Path, marian: tuple[Path, Any], imported: Path) -> None:
    """With `target_vocab.json`, encoder and decoder have separate embeddings."""
    folder = Path(shutil.copytree(marian[0], tmp_path / "separate"))
    numbers = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    turned = {piece: len(numbers) - 1 - number for piece, number in numbers.items()}
    (folder / "target_vocab.json").write_text(json.dumps(turned), encoding="utf-8")
    _change_json("config.json", decoder_start_token_id=turned["<pad>"])(folder)
    weights = load_file(folder / "model.safetensors")
    shared = weights.pop("model.shared.weight")
    weights["model.encoder.embed_tokens.weight"] = shared
    weights["model.decoder.embed_tokens.weight"] = shared.flip(0)
    weights["final_logits_bias"] = weights["final_logits_bias"].flip(1)
    save_file({name: tensor.contiguous().clone() for name, tensor in weights.items()}, folder / "model.safetensors")
    found, expected = load_checkpoint(import_marian(folder, marian_run(tmp_path))), load_checkpoint(imported)
    assert all(torch.equal(found.weights[name], expected.weights[name]) for name in expected.weights)


@pytest.fixture
def several(copy: Path) -> Path:
    """The folder of a model with several target languages."""
    numbers = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))
    learnt = [piece for piece in numbers if piece.isascii() and "<" not in piece]
    numbers |= {">>fra<<": numbers["<unk>"], ">>jpn<<": numbers.pop(max(learnt, key=len))}
    (copy / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    return copy


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_every_source_says_into_which_language(several: Path, tmp_path: Path) -> None:
    """It begins with the language's piece, as in `transformers`; such a piece written in a text is only text."""
    run_of_jpn = marian_run(tmp_path, tokenizer=_tokenizer(tmp_path, PIECES + 2))
    checkpoint = load_checkpoint(import_marian(several, run_of_jpn, "jpn"))
    ours, theirs = checkpoint.tokenizer, MarianTokenizer.from_pretrained(several)
    for text in SOURCES:
        found = [ours.source_pieces[i] for i in ours.encode_source(text)]
        assert [*found, "</s>"] == theirs.convert_ids_to_tokens(theirs(f">>jpn<< {text}").input_ids)
    piece = ours.source.piece_to_id(">>jpn<<")
    assert ours.encode_source("") == []
    assert ours.encode_source(">>jpn<<").count(piece) == 1
    assert ">>jpn<<" not in ours.target_pieces
    assert ">>jpn<<" not in Vocabulary.of(ours).source
    number = json.loads((several / "vocab.json").read_text(encoding="utf-8"))[">>jpn<<"]
    stored = load_file(several / "model.safetensors")["model.shared.weight"]
    assert torch.equal(checkpoint.weights["backbone.source_embedding.weight"][piece], stored[number])


def test_the_language_stays_with_the_model(several: Path, tmp_path: Path) -> None:
    """Its bundle uses the same language, without being told."""
    run_of_jpn = marian_run(tmp_path, tokenizer=_tokenizer(tmp_path, PIECES + 2))
    checkpoint = import_marian(several, run_of_jpn, "jpn")
    export_bundle(checkpoint, tmp_path / "bundle", "float32", documents=documents())
    requests = [TranslationRequest(SOURCES[0])]
    expected, found = (
        Runtime.open(folder, compute_type="float32").translate(requests, Options())[0]
        for folder in (checkpoint, tmp_path / "bundle")
    )
    assert found.text == expected.text
    assert found.score == pytest.approx(expected.score, abs=1e-4)


def test_a_language_that_the_model_does_not_have(several: Path, tmp_path: Path) -> None:
    """The message names the languages that it has."""
    with pytest.raises(DataError, match="several languages: fra, jpn; deu is none of them"):
        import_marian(several, marian_run(tmp_path), "deu")


def test_a_model_of_one_pair_is_told_nothing(marian: tuple[Path, Any], tmp_path: Path) -> None:
    """Naming a language for which it has no piece is an error."""
    with pytest.raises(DataError, match="translates into one language, and has no piece for jpn"):
        import_marian(marian[0], marian_run(tmp_path), "jpn")


def test_a_piece_without_a_number_is_cut_into_others(copy: Path, imported: Path, tmp_path: Path) -> None:
    """Such a piece would be unknown, but smaller pieces of it are not."""
    before = load_checkpoint(imported).tokenizer
    longest = max(before.source_pieces[4:], key=len)
    text = longest.replace("▁", "")
    numbers = json.loads((copy / "vocab.json").read_text(encoding="utf-8"))
    del numbers[longest]
    numbers["of nothing"] = len(numbers)
    (copy / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    found = load_checkpoint(import_marian(copy, marian_run(tmp_path, tokenizer=_tokenizer(tmp_path, PIECES)))).tokenizer
    assert longest not in found.source_pieces
    assert found.source.unk_id() not in found.encode_source(text)
    assert found.source.decode(found.encode_source(text)) == text


def test_unknown_words_are_left_out_of_a_translation(imported: Path) -> None:
    """As in `transformers`, they are not written as question marks."""
    target = load_checkpoint(imported).tokenizer
    said = target.encode_target(TARGETS[0])
    assert target.decode_target([*said[:1], target.target.unk_id(), *said[1:]]) == TARGETS[0]


def test_all_that_a_run_has_to_change_is_said_at_once(marian: tuple[Path, Any], tmp_path: Path) -> None:
    """Each size is named as in the run's file, and nothing is written."""
    backbone = BACKBONE.model_copy(update={"width": 64, "norm": "pre", "max_length": 64})
    run = marian_run(tmp_path, backbone=backbone, tokenizer=_tokenizer(tmp_path, 500))
    with pytest.raises(ConfigError) as error:
        import_marian(marian[0], run)
    message = str(error.value)
    assert "backbone.width is 64, and has to be 32" in message
    assert "backbone.norm is pre, and has to be post" in message
    assert f"tokenizer.vocabulary is 500, and has to be {PIECES + 1}" in message
    assert "max_length" not in message  # fewer positions than it was trained with are enough
    assert not list(tmp_path.iterdir())


def test_checkpoints_of_a_run_stay(marian: tuple[Path, Any], tmp_path: Path) -> None:
    """Existing checkpoints of a run are not replaced."""
    run = marian_run(tmp_path)
    import_marian(marian[0], run)
    with pytest.raises(CheckpointError, match="final: already exists"):
        import_marian(marian[0], run)
    (run.output / "checkpoints").mkdir()
    (run.output / "final").rename(run.output / "checkpoints" / "update-00000007")
    with pytest.raises(CheckpointError, match="update-00000007: already exists"):
        import_marian(marian[0], run)


def _tokenizer(folder: Path, vocabulary: int) -> Any:
    return marian_run(folder).tokenizer.model_copy(update={"vocabulary": vocabulary})


def _change_json(name: str, **values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(found | values), encoding="utf-8")

    return change


def _change_weights(change: Callable[[dict[str, Tensor]], Any]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return changed


def _write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def _without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _as_marian_publishes_it(folder: Path) -> None:
    _without_weights(folder)
    (folder / "config.json").unlink()
    (folder / "opus.spm32k-spm32k.transformer.model1.npz.best-perplexity.npz").touch()


def _with_torchs(content: bytes) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        _without_weights(folder)
        (folder / "pytorch_model.bin").write_bytes(content)

    return replace


def _without_pieces(*pieces: str) -> Callable[[Path], None]:
    def remove(folder: Path) -> None:
        found = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        left = {piece: number for piece, number in found.items() if piece not in pieces}
        (folder / "vocab.json").write_text(json.dumps(left), encoding="utf-8")

    return remove


def _add_piece(piece: str) -> Callable[[Path], None]:
    def add(folder: Path) -> None:
        proto = sentencepiece_model_pb2.ModelProto.FromString((folder / "source.spm").read_bytes())
        proto.pieces.add(piece=piece, type=4)
        (folder / "source.spm").write_bytes(proto.SerializeToString())

    return add


def _spoil_piece(folder: Path) -> None:
    model = (folder / "source.spm").read_bytes()
    piece = sentencepiece_model_pb2.ModelProto.FromString(model).pieces[-1].piece.encode()
    (folder / "source.spm").write_bytes(model.replace(piece, b"\xff" * len(piece)))


class _Runs:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("has-run",)


def _with_code(folder: Path) -> None:
    _without_weights(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Runs(), protocol=2))


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_as_marian_publishes_it, "in Marian's own format .*, with config.json"),
        (lambda folder: (folder / "config.json").unlink(), "config.json: cannot be read"),
        (_write("config.json", b"{"), "is not a Marian model that can be imported"),
        (_change_json("config.json", model_type="bert"), "model_type: Input should be 'marian'"),
        (_change_json("config.json", normalize_before=True), "normalize_before: Input should be False"),
        (_change_json("config.json", decoder_ffn_dim=24), "encoder and decoder have layers of different sizes"),
        (_change_json("config.json", decoder_layers=2), "the weights have model.decoder.layers.2"),
        (_change_json("config.json", decoder_layers=4), "the weights have no model.decoder.layers.3"),
        (_change_json("vocab.json", **{">>fra<<": 3, ">>jpn<<": 4}), "into several languages: fra, jpn; choose one"),
        (_change_json("vocab.json", **{"<unk>": 5000}), "a piece has the number 5000"),
        (_change_json("vocab.json", **{"<unk>": "1"}), "is not an object of pieces and their numbers"),
        (_write("vocab.json", b"{}"), "no piece of source.spm has a number"),
        (_write("vocab.json", b"no"), "is not JSON"),
        (_write("target.spm", b"no model"), "target.spm is damaged, or is not a SentencePiece model"),
        (_spoil_piece, "source.spm is damaged, or is not a SentencePiece model"),
        (_without_weights, "has neither model.safetensors nor pytorch_model.bin"),
        (_write("model.safetensors", b"no"), "model.safetensors: cannot be read"),
        (_with_code, "pytorch_model.bin: cannot be read"),
        (_change_weights(lambda w: w.pop("model.shared.weight")), "the weights have no embeddings of the target"),
        (
            _change_weights(lambda w: w.update({"model.encoder.embed_positions.weight": torch.zeros(96, 32)})),
            "sinusoids",
        ),
        (_change_json("config.json", d_model=33), "width 33 must be even and a multiple of heads 4"),
        (_change_json("config.json", encoder_layers=0), "encoder_layers: Input should be greater"),
        (_change_json("config.json", decoder_start_token_id=None), "decoder_start_token_id: Input should be a valid"),
        (_without_pieces("</s>"), "</s> has no number"),
        (_without_pieces("<unk>"), "<unk> has no number"),
        (_write("vocab.json", b"[" * 10**5), "vocab.json: is not JSON"),
        (_add_piece("</s>"), "source.spm cannot be used: </s> is already defined"),
        (_with_torchs(b""), "pytorch_model.bin: cannot be read: EOFError"),
        (_with_torchs(b"\x80"), "pytorch_model.bin: cannot be read: index out of range"),
        (_change_weights(lambda w: w.update({"final_logits_bias": w["final_logits_bias"].int()})), "floating-point"),
        (_change_weights(lambda w: w["final_logits_bias"].fill_(torch.nan)), "numbers that are not finite"),
        (_change_weights(lambda w: w.update({"final_logits_bias": torch.zeros(5)})), "with the shape .5."),
        (_change_weights(lambda w: w.update({"lm_head.weight": w["model.shared.weight"] + 1})), "lm_head.weight"),
        *(
            (_change_weights(lambda w, name=name: w.update({name: torch.zeros(500, 16)})), "with the shape .500, 16.")
            for name in (
                "model.shared.weight",
                "model.encoder.embed_positions.weight",
                "model.encoder.layers.0.self_attn.k_proj.weight",
                "model.decoder.layers.0.fc2.weight",
                "model.decoder.layers.0.final_layer_norm.weight",
            )
        ),
    ],
)
def test_what_cannot_be_imported_is_refused(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], Any], problem: str
) -> None:
    """One sentence names the file or its folder; nothing is written, and no code in a file is run."""
    monkeypatch.chdir(tmp_path)
    spoil(copy)
    with pytest.raises(DataError, match=problem) as error:
        import_marian(copy, marian_run(tmp_path / "out"))
    assert str(copy) in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "has-run").exists()
