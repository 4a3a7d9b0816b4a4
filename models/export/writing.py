"""Writing the files of a bundle, without checking that they agree with the checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from models.bundle.bert import write_bert
from models.bundle.card import CARD, model_card
from models.bundle.conversion import convert_backbone
from models.bundle.description import describe
from models.bundle.manifest import BACKBONE, BERT, JOINED, Manifest, Quantization
from models.bundle.weights import without_backbone, write_weights
from models.config import RunConfig
from models.data.checksums import sha256
from models.data.tokenizer import Tokenizer
from models.network.architectures.bert import FrozenBert
from models.network.context import Architecture
from models.network.model import TranslationModel
from models.training.checkpoints import weights_of


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle is made from; the models are in float32."""

    config: RunConfig
    tokenizer: Tokenizer
    model: TranslationModel
    sentence: TranslationModel | None
    """The model that translates without context, if there is one."""

    @property
    def has_own_backbone(self) -> bool:
        """Whether the sentence model is the model's own backbone, whose weights are then stored only once."""
        if self.sentence is None:
            return False
        own, alone = (dict(model.backbone.named_parameters()) for model in (self.model, self.sentence))
        alike = self.model.backbone.config == self.sentence.backbone.config
        return alike and all(torch.equal(own[name], alone[name]) for name in own)

    @property
    def kept_apart(self) -> dict[str, Tensor]:
        """The weights that are in none of the converted models."""
        weights = weights_of(self.model)
        converted = self.has_own_backbone or self.model.architecture.joins_source
        return without_backbone(weights) if converted else weights


def write_bundle(
    folder: Path,
    contents: Contents,
    quantization: Quantization,
    *,
    scores: Mapping[str, float] | None = None,
) -> Manifest:
    """Write a bundle into a new folder.

    Args:
        folder: the bundle's folder, which must not exist yet.
        contents: what is written; it is not changed.
        quantization: the type of the CTranslate2 backbone, and of the weights for decoding with context.
        scores: figures on test sets, by descriptive name.

    Raises:
        BundleError: a part of the bundle cannot be converted.
        OSError: the bundle cannot be written.
    """
    model, tokenizer = contents.model, contents.tokenizer
    folder.mkdir(parents=True)
    tokenizer.save(folder)
    if model.architecture.joins_source and not contents.has_own_backbone:
        convert(model, tokenizer, folder / JOINED, quantization)
    if weights := contents.kept_apart:
        write_weights(folder, weights, quantization)
    if contents.sentence is not None:
        convert(contents.sentence, tokenizer, folder / BACKBONE, quantization)
    if isinstance(bert := model.architecture.pretrained, FrozenBert):
        write_bert(bert, folder / BERT, quantization)
    config = _as_in_bundle(contents.config, model.architecture)
    manifest = describe(
        config,
        tokenizer,
        model.architecture,
        quantization=quantization,
        scores=scores,
        files=_checksums(folder),
    )
    return _written(folder, manifest)


def with_certainty(folder: Path, manifest: Manifest, unsure_below: float | None) -> Manifest:
    """Add to the manifest of a bundle, and to its card, below which score its translations are less sure than usual.

    Raises:
        OSError: the bundle cannot be written.
    """
    return _written(folder, manifest.model_copy(update={"unsure_below": unsure_below}))


def _written(folder: Path, manifest: Manifest) -> Manifest:
    manifest.save(folder)
    (folder / CARD).write_text(model_card(manifest), encoding="utf-8")
    return manifest


def convert(model: TranslationModel, tokenizer: Tokenizer, folder: Path, quantization: Quantization) -> None:
    """Write a model's backbone as a CTranslate2 model."""
    convert_backbone(model.backbone, tokenizer.source_pieces, tokenizer.target_pieces, folder, quantization)


def _as_in_bundle(config: RunConfig, architecture: Architecture) -> RunConfig:
    """Return the config with the path of a pretrained BERT as it is in the bundle."""
    if architecture.pretrained is None:
        return config
    inside = config.architecture.model_copy(update={"bert": Path(BERT)})
    return config.model_copy(update={"architecture": inside})


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}
