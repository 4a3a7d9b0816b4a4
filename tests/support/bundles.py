"""Tiny but complete checkpoints and bundles, whose networks are too small to have learnt anything."""

import random
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.bundle.manifest import WEIGHTS, Manifest, Quantization
from models.config import (
    ArchitectureConfig,
    BackboneConfig,
    Corpus,
    DataConfig,
    DecodingConfig,
    DocTransformerConfig,
    Languages,
    Provenance,
    RunConfig,
    SentenceConfig,
    TokenizerConfig,
    TrainingConfig,
)
from models.data.checksums import sha256
from models.data.documents import Document, Sentence
from models.data.tokenizer import BOS, EOS, PAD, Tokenizer, train_tokenizer
from models.export.export import export_bundle
from models.network.attention import Attention
from models.network.model import TranslationModel
from models.training.checkpoints import Progress, build_model, save_checkpoint, weights_of

_SHAPE: dict[str, Any] = {
    "width": 32,
    "feed_forward": 48,
    "heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "max_length": 64,
    "embeddings": "output",
}
_WORDS = {f"{a}{b}": f"{b}{a}o" for a in "かきくけこ" for b in "らりるれろ"}


def documents(count: int = 6, length: int = 5) -> list[Document]:
    """Made-up Japanese documents with translations; the same in every run."""
    chooser = random.Random(1)

    def sentence() -> Sentence:
        words = chooser.choices(list(_WORDS), k=chooser.randint(2, 6))
        return Sentence("".join(words[:2]) + "、" + "".join(words[2:]) + "。", " ".join(_WORDS[w] for w in words) + ".")

    return [Document(tuple(sentence() for _ in range(length)), f"made-up:{number}") for number in range(count)]


def make_checkpoint(
    folder: Path,
    architecture: ArchitectureConfig | None = None,
    *,
    name: str = "tiny",
    max_tokens: int = 40,
    seed: int = 1,
    **backbone: Any,
) -> Path:
    """Write a Japanese-English checkpoint whose random weights generate text and are sensitive to context.

    Args:
        folder: where to write the checkpoint.
        architecture: by default a Doc-Transformer with two sentences of context. Unless it is a sentence model, the
            sentence model that it was trained from is written beside it, as `<folder>.step-one`.
        name: name of the run.
        max_tokens: limit on tokens in training.
        seed: seed of the weights.
        **backbone: values to use instead of the default: a width of 32, two encoder and two decoder layers.

    Returns:
        The folder.
    """
    shape = BackboneConfig.model_validate(_SHAPE | backbone)
    config = _config(folder, architecture or DocTransformerConfig(), shape, name, max_tokens)
    tokenizer = _tokenizer(config.tokenizer)
    model = build_model(config, tokenizer, dropout=0.0)
    randomize(model, seed)
    save_checkpoint(folder, config, tokenizer, weights_of(model), Progress())
    if config.training.init is not None:
        _save_step_one(config, tokenizer, model)
    return folder


def make_bundle(
    folder: Path,
    architecture: ArchitectureConfig | None = None,
    *,
    quantization: Quantization = "int8",
    own_backbone: bool = True,
    **checkpoint: Any,
) -> Path:
    """Export a tiny checkpoint (arguments as for `make_checkpoint`).

    Its sentence model is its own backbone or, without `own_backbone`, a separate one.
    """
    trained = make_checkpoint(folder.with_name(f"{folder.name}.checkpoint"), architecture, **checkpoint)
    alone = None
    if not own_backbone:
        alone = make_checkpoint(folder.with_name(f"{folder.name}.alone"), SentenceConfig(), seed=2, **checkpoint)
    export_bundle(trained, folder, quantization, documents=documents(), sentence=alone)
    return folder


UNFIT = "かﷺ"
"""A word whose last character, normalized to eighteen letters and three spaces, takes eight tokens or more."""


def narrowed(bundle: Path, folder: Path) -> Path:
    """Copy a bundle and lower its token limits so that `UNFIT` does not fit."""
    shutil.copytree(bundle, folder)
    manifest = Manifest.load(folder)
    limits = manifest.limits.model_copy(update={"source_tokens": 7, "split_tokens": 7})
    manifest.model_copy(update={"limits": limits}).save(folder)
    return folder


def put_nan(folder: Path, weight: str) -> None:
    """Set the first value of one of a bundle's weights to NaN; the checksum matches, as if it was exported so."""
    weights = load_file(folder / WEIGHTS)
    weights[weight].view(-1)[0] = float("nan")
    replace_weights(folder, weights)


def replace_weights(folder: Path, stored: dict[str, Tensor]) -> None:
    """Replace the tensors in a bundle's weights file; the checksum matches, as if they were exported so."""
    save_file(stored, folder / WEIGHTS)
    manifest = Manifest.load(folder)
    files = manifest.files | {WEIGHTS: sha256(folder / WEIGHTS)}
    manifest.model_copy(update={"files": files}).save(folder)


def randomize(model: TranslationModel, seed: int = 1) -> None:
    """Give a model random weights with which context changes the output and no padding is ever generated."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model.initialize()
        for module in model.modules():
            if isinstance(module, Attention):  # a new context attention starts at zero
                torch.nn.init.xavier_uniform_(module.output.weight, gain=3.0)
                module.query.weight.data *= 2.0
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.data += 0.2 * torch.randn_like(parameter)
        _generate(model)


def _generate(model: TranslationModel) -> None:
    """Make padding impossible and an end of sentence likely, given that every hidden state sums to more than zero."""
    norm = model.backbone.decoder_norm
    last = norm if isinstance(norm, torch.nn.LayerNorm) else model.backbone.decoder[-1].feed_residual.norm
    bias, output = last.bias, model.backbone.output.weight
    assert isinstance(bias, Tensor)
    bias.data += 0.5
    output.data[[PAD, BOS]] = -1.0
    output.data[EOS] += 0.3


def _config(
    folder: Path, architecture: ArchitectureConfig, backbone: BackboneConfig, name: str, max_tokens: int
) -> RunConfig:
    """The config of the run that would have written a checkpoint into the folder."""
    beside, joint = folder.with_name(f"{folder.name}.tokenizer"), backbone.embeddings == "shared"
    return RunConfig(
        name=name,
        languages=Languages(source="ja", target="en"),
        data=DataConfig(train=Corpus(source=Path("a"), target=Path("b")), max_tokens=max_tokens),
        provenance=Provenance(training_data="Made-up words", licence="CC0-1.0", attribution="Nobody"),
        tokenizer=TokenizerConfig(path=beside, kind="bpe", vocabulary=60, joint=joint),
        backbone=backbone,
        architecture=architecture,
        training=_training(architecture, folder),
        decoding=DecodingConfig(length_ratio=1.0, length_offset=4),
        output=folder.parent,
    )


def _training(architecture: ArchitectureConfig, folder: Path) -> TrainingConfig:
    if isinstance(architecture, SentenceConfig):
        return TrainingConfig(step="sentence", updates=1)
    return TrainingConfig(step="document", updates=1, init=folder.with_name(f"{folder.name}.step-one"))


def _save_step_one(config: RunConfig, tokenizer: Tokenizer, model: TranslationModel) -> None:
    """Save the sentence model that the checkpoint claims to be trained from; it has the same backbone."""
    init = config.training.init
    assert init is not None
    step_one = config.model_copy(
        update={"architecture": SentenceConfig(), "training": TrainingConfig(step="sentence", updates=1)}
    )
    backbone = {name: tensor for name, tensor in weights_of(model).items() if name.startswith("backbone.")}
    save_checkpoint(init, step_one, tokenizer, backbone, Progress())


def _tokenizer(config: TokenizerConfig) -> Tokenizer:
    sentences = [sentence for document in documents(60) for sentence in document.sentences]
    characters = config.model_copy(update={"byte_fallback": False})
    return train_tokenizer(characters, (s.source for s in sentences), (s.target or "" for s in sentences))
