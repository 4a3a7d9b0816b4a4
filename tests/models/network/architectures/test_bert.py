"""A frozen BERT from a folder."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

from models.data.wordpiece import CONFIG
from models.errors import ConfigError
from models.network.architectures.bert import WEIGHTS, FrozenBert
from models.network.architectures.bert_encoder import BertShape
from tests.support.bert import POSITIONS, WIDTH, with_activation


def open_bert(folder: Path, checksum: str | None = None) -> FrozenBert:
    """The small BERT."""
    return FrozenBert(folder, WIDTH, POSITIONS, checksum)


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    """A folder for a test to damage."""
    return copytree(bert, tmp_path / "copy")


def reconfigure(folder: Path, **values: Any) -> None:
    """Change values of the config in a folder."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps(config | values), encoding="utf-8")


def test_states_depend_on_no_batch_mate(bert: Path) -> None:
    """They are the same alone as in a batch, zero for padding, and without gradients, even in inference mode."""
    encoder, rows = open_bert(bert), [[3, 6, 8, 4], [3, 9, 4], [3, 5, 5, 7, 12, 4]]
    batch = torch.tensor([row + [0] * (6 - len(row)) for row in rows])
    with torch.inference_mode():
        together = encoder.states(batch)
    assert not together.requires_grad
    for row, states in zip(rows, together, strict=True):
        assert torch.allclose(states[: len(row)], encoder.states(torch.tensor([row]))[0], atol=1e-5)
        assert not states[len(row) :].any()


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu"])
def test_states_are_those_of_transformers(bert: Path, tmp_path: Path, activation: str) -> None:
    """They are equal in float32, with and without padding."""
    folder = with_activation(bert, activation, tmp_path / "copy")
    ids = torch.tensor([[3, 6, 8, 4, 0, 0], [3, 5, 5, 7, 12, 4]])
    with torch.no_grad():
        given = {"input_ids": (ids - 1).clamp(min=0), "attention_mask": ids.ne(0).long()}
        expected = BertModel.from_pretrained(folder).eval()(**given).last_hidden_state
    assert torch.allclose(open_bert(folder).states(ids)[ids.ne(0)], expected[ids.ne(0)], atol=1e-5)


def test_reading_moves_no_random_number(copy: Path) -> None:
    """So a resumed run, which loads BERT anew, continues as it would have; the folder may lack the pooler."""
    weights = load_file(copy / WEIGHTS)
    kept = {name: tensor for name, tensor in weights.items() if not name.startswith("pooler")}
    save_file(kept, copy / WEIGHTS, {"format": "pt"})
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    assert open_bert(copy).states(torch.tensor([[3, 4]])).shape == (1, 2, WIDTH)
    assert torch.equal(torch.rand(3), expected)


def test_nothing_is_read_before_it_is_needed() -> None:
    """A bundle's model, or one that is only described, needs no folder."""
    FrozenBert(Path("nowhere"), 768, 512)


def test_pooler_and_other_heads_may_be_missing(copy: Path) -> None:
    """A BERT saved from masked language modelling has the prefix `bert.`, a head, and no pooler."""
    weights = load_file(copy / WEIGHTS)
    kept = {f"bert.{name}": tensor for name, tensor in weights.items() if not name.startswith("pooler")}
    save_file(kept | {"cls.predictions.bias": torch.zeros(3)}, copy / WEIGHTS, {"format": "pt"})
    tokens = torch.tensor([[3, 6, 4]])
    encoder = open_bert(copy)
    assert encoder.model.words.weight.equal(weights["embeddings.word_embeddings.weight"])
    assert encoder.states(tokens).isfinite().all()


def test_another_bert_than_expected_is_refused(bert: Path, copy: Path) -> None:
    """The checksum covers configuration, weights and vocabulary."""
    checksum = open_bert(bert).checksum
    assert open_bert(copy, checksum).checksum == checksum
    with (copy / "vocab.txt").open("a", encoding="utf-8") as file:
        file.write("x\n")
    with pytest.raises(ConfigError, match="not the BERT that the model was trained with"):
        _ = open_bert(copy, checksum).wordpiece


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """The error also has the key of the config that names the folder."""
    with pytest.raises(ConfigError, match=r"gone: is not a BERT.*architecture\.bert"):
        _ = open_bert(tmp_path / "gone").wordpiece


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "roberta"}, "type 'roberta', not a BERT"),
        ({"hidden_size": 16}, "width 16, not 12: correct bert_width"),
        ({"max_position_embeddings": 32}, "bert_pieces must be 32 or less"),
        ({"position_embedding_type": "relative_key"}, "absolute positions"),
        ({"is_decoder": True}, "not a BERT encoder"),
        ({"vocab_size": 9}, "more pieces than"),
    ],
)
def test_a_foreign_model_is_refused(copy: Path, values: dict[str, Any], message: str) -> None:
    """It is another kind of model, or has other sizes than the config says."""
    reconfigure(copy, **values)
    with pytest.raises(ConfigError, match=message):
        _ = open_bert(copy).wordpiece


def test_an_activation_that_is_not_offered_is_named(bert: Path, tmp_path: Path) -> None:
    """The error also names the folder."""
    folder = with_activation(bert, "mish", tmp_path / "copy")
    with pytest.raises(ConfigError, match="copy: the activation 'mish' of this BERT is not supported"):
        _ = open_bert(folder).model


def test_what_a_bundle_says_of_its_bert_is_checked(bert: Path) -> None:
    """It accepts what it writes itself, but no missing or impossible values."""
    shape = open_bert(bert).model.shape
    assert BertShape.of(shape.config()) == shape
    for name in shape.config().keys() - {"model_type"}:
        with pytest.raises(ConfigError, match=f"lacks {name}"):
            BertShape.of({key: value for key, value in shape.config().items() if key != name})
    for value in ({"num_attention_heads": 5}, {"vocab_size": "many"}):
        with pytest.raises(ConfigError, match="a value that is not supported"):
            BertShape.of(shape.config() | value)


def test_damaged_files_are_refused(copy: Path) -> None:
    """Weights that are incomplete, unreadable or missing, and a config that is not JSON, are each refused."""
    weights = load_file(copy / WEIGHTS)
    name = "encoder.layer.1.output.dense.weight"
    save_file({key: tensor for key, tensor in weights.items() if key != name}, copy / WEIGHTS, {"format": "pt"})
    with pytest.raises(ConfigError, match=f"lacks weights of the BERT, such as {name}"):
        _ = open_bert(copy).model
    (copy / WEIGHTS).write_bytes(b"no weights")
    with pytest.raises(ConfigError, match="cannot be read as BERT"):
        _ = open_bert(copy).model
    (copy / WEIGHTS).unlink()
    with pytest.raises(ConfigError, match=r"has no model\.safetensors"):
        _ = open_bert(copy).model
    for content in ("{", "[" * 10**5):
        (copy / CONFIG).write_text(content, encoding="utf-8")
        with pytest.raises(ConfigError, match="is not JSON"):
            _ = open_bert(copy).model
