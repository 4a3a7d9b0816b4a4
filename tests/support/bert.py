"""A small BERT with random weights: the files of a real one, with letters for its vocabulary."""

import json
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch

from models.config import ArchitectureConfig, BertContextConfig

WIDTH, POSITIONS = 12, 64
NOWHERE = Path("nowhere")
"""Stands for the folder that a fixture will make."""


def make_bert(folder: Path, letters: Iterable[str], *, words: Iterable[str] = (), **shape: Any) -> Path:
    """Write a random BERT whose vocabulary is these letters (initial and within a word) and these words.

    Args:
        folder: created if it does not exist.
        letters: the letters of the language.
        words: whole words that are a single piece.
        **shape: config values to use instead of the default: two layers of width 12, 64 positions.

    Returns:
        The folder.
    """
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += [*(prefix + letter for letter in letters for prefix in ("", "##")), *words]
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    sizes |= {"max_position_embeddings": POSITIONS, "vocab_size": len(pieces), "initializer_range": 0.5} | shape
    with torch.random.fork_rng():
        torch.manual_seed(1)
        BertModel(BertConfig(**sizes)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}), encoding="utf-8")
    return folder


def with_activation(bert: Path, activation: str, folder: Path) -> Path:
    """Copy a BERT and change its activation function."""
    copy = copytree(bert, folder)
    config = json.loads((copy / "config.json").read_text(encoding="utf-8")) | {"hidden_act": activation}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return copy


def tiny_bert_context(bert: Path = NOWHERE, **switches: Any) -> BertContextConfig:
    """The config of an architecture that uses such a BERT."""
    sizes = {"bert_width": WIDTH, "bert_pieces": POSITIONS}
    return BertContextConfig.model_validate(sizes | {"bert": bert} | switches)


def with_bert(config: ArchitectureConfig, request: pytest.FixtureRequest) -> ArchitectureConfig:
    """The config, pointed at the folder of the fixture `bert` if its architecture uses a BERT."""
    if not isinstance(config, BertContextConfig):
        return config
    return config.model_copy(update={"bert": request.getfixturevalue("bert")})
