"""A bundle that needs no data: a Transformer of the usual size with random weights, and documents for it.

A sentence has `TOKENS` words, each of them a token. If every translation is given the same length, random weights are
as fast as trained ones, and every way to translate takes the same number of steps.
"""

import io
import random
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import sentencepiece
import torch

from models.bundle.step_one import sentence_model
from models.config import BackboneConfig, RunConfig
from models.data.documents import Document, Sentence
from models.data.tokenizer import BOS, EOS, PAD, SPECIAL_PIECES, UNK, Tokenizer
from models.errors import packages_needed
from models.export.writing import Contents, write_bundle
from models.network.model import TranslationModel

TOKENS: Final = 25
"""Tokens of each sentence, without the end of sentence."""
SENTENCES: Final = 20
"""Sentences of each document."""
VOCABULARY: Final = 32_000
BASE: Final = BackboneConfig()
"""6 + 6 layers of width 512."""
MINILM: Final = "minilm_context"
"""`bert_context` with a BERT as small as that of `systems_en_ja`."""
BERTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "bert_context": {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    MINILM: {
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
}
"""The shapes of BERT-base, as in Guo and Nguyen 2020, and of MiniLM with six layers (Wang et al. 2020)."""


def write_fixed(folder: Path, kind: str, backbone: BackboneConfig = BASE, vocabulary: int = VOCABULARY) -> None:
    """Write a bundle, the same every time.

    Args:
        folder: the bundle's folder, which must not exist yet.
        kind: the kind of architecture, with its default values; or `MINILM`.
        backbone: the backbone's shape.
        vocabulary: the number of pieces, which both languages share.

    Raises:
        ConfigError: BERT needs packages that are not installed.
        OSError: the bundle cannot be written.
    """
    tokenizer = _tokenizer(vocabulary)
    with tempfile.TemporaryDirectory() as beside, torch.random.fork_rng():
        torch.manual_seed(1)
        config = _config(kind, backbone, _architecture(kind, Path(beside), vocabulary))
        model = TranslationModel(backbone, config.architecture, vocabulary, vocabulary).eval()
        model.initialize()
        write_bundle(folder, Contents(config, tokenizer, model, sentence_model(model)), "int8")


def fixed_documents(sentences: int, vocabulary: int = VOCABULARY) -> list[Document]:
    """Make different documents with translations, of `sentences` sentences in all or a few more."""
    chooser, words = random.Random(1), _words(vocabulary)  # noqa: S311

    def text() -> str:
        return " ".join(chooser.choices(words, k=TOKENS))

    return [
        Document(tuple(Sentence(text(), text()) for _ in range(SENTENCES)), f"made-up:{number}")
        for number in range(-(-sentences // SENTENCES))
    ]


def _words(vocabulary: int) -> list[str]:
    return [f"w{number}" for number in range(vocabulary - len(SPECIAL_PIECES))]


def _tokenizer(vocabulary: int) -> Tokenizer:
    """Make a tokenizer that knows the words and nothing else."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_words(vocabulary)),
        model_writer=model,
        model_type="word",
        vocab_size=vocabulary,
        normalization_rule_name="identity",
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return Tokenizer(processor, processor)


def _architecture(kind: str, beside: Path, vocabulary: int) -> Mapping[str, Any]:
    """Return the architecture section of a run; if it has a BERT, write that to `beside`."""
    if kind not in BERTS:
        return {"kind": kind}
    shape = BERTS[kind]
    return {"kind": "bert_context", "bert": _write_bert(beside, vocabulary, shape), "bert_width": shape["hidden_size"]}


def _config(kind: str, backbone: BackboneConfig, architecture: Mapping[str, Any]) -> RunConfig:
    return RunConfig.model_validate(
        {
            "name": f"fixed-{kind}",
            "languages": {"source": "xx", "target": "yy"},
            "data": {"train": {"source": "none", "target": "none"}},
            "tokenizer": {"path": "none"},
            "backbone": backbone,
            "architecture": architecture,
            "training": {"step": "joint", "updates": 1},
            "output": "none",
        }
    )


def _write_bert(folder: Path, vocabulary: int, shape: Mapping[str, Any]) -> Path:
    """Write a random BERT that knows the words."""
    with packages_needed("BERT", "bert"):
        from transformers import BertConfig, BertModel  # noqa: PLC0415 - only this one needs it
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_words(vocabulary)]
    BertModel(BertConfig(vocab_size=len(pieces), **shape)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return folder
