"""A small random Marian model in the format of `transformers`, with the same files as an OPUS-MT model."""

import io
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

from models.config import BackboneConfig, Corpus, DataConfig, Languages, RunConfig, TokenizerConfig, TrainingConfig
from models.data.tokenizer import SPECIAL_PIECES

PIECES = 40
"""Vocabulary size of each language, as SentencePiece counts it."""
BACKBONE = BackboneConfig(
    width=32,
    feed_forward=48,
    heads=4,
    encoder_layers=2,
    decoder_layers=3,
    norm="post",
    activation="swish",
    embeddings="output",
    output_bias=True,
    positions="marian",
    max_length=96,
)
"""The same shape as a config of this project."""
_SHAPE = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 96} | {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in (("attention_heads", 4), ("ffn_dim", 48))
}


def make_marian(folder: Path, sources: Sequence[str], targets: Sequence[str]) -> MarianMTModel:
    """Write a random model whose vocabularies are learnt from these texts.

    Args:
        folder: must not exist yet.
        sources: texts in the source language, at least a few hundred characters in all.
        targets: the same in the target language.

    Returns:
        The model, in evaluation mode.
    """
    folder.mkdir(parents=True)
    pieces = _vocabulary(folder / "source.spm", sources) + _vocabulary(folder / "target.spm", targets)
    random.Random(1).shuffle(pieces)
    known = dict.fromkeys(["</s>", "<unk>", *pieces, "<pad>"])
    numbers = {piece: number for number, piece in enumerate(known)}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    padding = numbers["<pad>"]
    ids = {"vocab_size": len(numbers), "pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0}
    config = MarianConfig(**(_SHAPE | ids | {"activation_function": "swish", "scale_embedding": True}))
    with torch.random.fork_rng():  # the initial weights are random too
        torch.manual_seed(1)
        model = MarianMTModel(config).eval()
    _randomize(model)
    model.save_pretrained(folder)
    return model


def marian_run(folder: Path, **values: Any) -> RunConfig:
    """A run into which such a model can be imported; its files are in `folder`."""
    config = {
        "name": "imported",
        "languages": Languages(source="ja", target="en"),
        "data": DataConfig(train=Corpus(source=Path("a"), target=Path("b")), max_tokens=60),
        "tokenizer": TokenizerConfig(
            path=folder / "tokenizer", vocabulary=PIECES + 1, kind="bpe", joint=False, byte_fallback=False
        ),
        "backbone": BACKBONE,
        "training": TrainingConfig(step="sentence", updates=1),
        "output": folder / "run",
    }
    return RunConfig.model_validate(config | values)


def _vocabulary(file: Path, texts: Iterable[str]) -> list[str]:
    """Write a SentencePiece model with default ids, and return its pieces."""
    with io.BytesIO() as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, vocab_size=PIECES, model_type="bpe", minloglevel=2
        )
        file.write_bytes(model.getvalue())
    found = sentencepiece.SentencePieceProcessor(model_file=str(file))
    pieces = [found.id_to_piece(i) for i in range(found.get_piece_size())]
    return [piece for piece in pieces if piece not in SPECIAL_PIECES]


def _randomize(model: MarianMTModel) -> None:
    """Set weights under which every word matters; those of padding are zero, as in Marian."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in filter(lambda parameter: parameter.requires_grad, model.parameters()):  # not positions
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
        model.model.shared.weight[-1] = 0.0
        model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
        model.final_logits_bias[:, -1] = 0.0
