"""The files of a bundle, written as they are; nobody has compared them with anything yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import save

from models.bundle.card import CARD, model_card
from models.bundle.conversion import convert_backbone
from models.bundle.description import describe
from models.bundle.manifest import BACKBONE, BERT, JOINED, WEIGHTS, Manifest, Quantization
from models.config import Provenance, RunConfig
from models.data.checksums import sha256
from models.data.tokenizer import Tokenizer
from models.engine.bert import convert_bert
from models.network.architectures.bert import FrozenBert
from models.network.context import Architecture
from models.network.model import TranslationModel
from models.training.checkpoints import weights_of


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle is made of; models in float32."""

    config: RunConfig
    tokenizer: Tokenizer
    model: TranslationModel
    sentence: TranslationModel | None
    """That translates without context, where there is one."""


def write_bundle(
    folder: Path,
    contents: Contents,
    quantization: Quantization,
    *,
    provenance: Provenance | None = None,
    scores: Mapping[str, float] | None = None,
) -> Manifest:
    """Write a bundle into a new folder.

    Args:
        folder: that is not there yet.
        contents: they are not changed.
        quantization: of the CTranslate2 backbone; the weights for decoding with context are stored in float32 in a
            float32 bundle, else in float16.
        provenance: in place of the run's own.
        scores: figures on test sets, by a name that says which.

    Raises:
        BundleError: a part of it cannot be converted.
        OSError: it cannot be written.
    """
    model, tokenizer = contents.model, contents.tokenizer
    folder.mkdir(parents=True)
    tokenizer.save(folder)
    stored: Literal["float32", "float16"] = "float32" if quantization == "float32" else "float16"
    if model.architecture.joins_source:
        convert(model, tokenizer, folder / JOINED, quantization)
    else:
        _write_weights(model, folder / WEIGHTS, torch.float32 if stored == "float32" else torch.float16)
    if contents.sentence is not None:
        convert(contents.sentence, tokenizer, folder / BACKBONE, quantization)
    if isinstance(bert := model.architecture.pretrained, FrozenBert):
        convert_bert(bert, folder / BERT, stored)
    config = _as_in_bundle(contents.config, model.architecture)
    manifest = describe(
        config,
        tokenizer,
        model.architecture,
        quantization=quantization,
        provenance=provenance,
        scores=scores,
        files=_checksums(folder),
    )
    manifest.save(folder)
    (folder / CARD).write_text(model_card(manifest), encoding="utf-8")
    return manifest


def convert(model: TranslationModel, tokenizer: Tokenizer, folder: Path, quantization: Quantization) -> None:
    """Write a model's backbone as a CTranslate2 model."""
    convert_backbone(model.backbone, tokenizer.source_pieces, tokenizer.target_pieces, folder, quantization)


def _write_weights(model: TranslationModel, file: Path, precision: torch.dtype) -> None:
    weights = {name: tensor.to(precision).contiguous() for name, tensor in weights_of(model).items()}
    file.write_bytes(save(weights))  # `save_file` would let nobody else read it


def _as_in_bundle(config: RunConfig, architecture: Architecture) -> RunConfig:
    """The config with what is read beside the weights where the bundle has it."""
    if architecture.pretrained is None:
        return config
    inside = config.architecture.model_copy(update={"bert": Path(BERT)})
    return config.model_copy(update={"architecture": inside})


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}
