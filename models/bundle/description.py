"""Descriptions of checkpoints and bundles: a manifest, a model without weights, a name, an identity."""

from collections.abc import Mapping
from pathlib import Path

import torch

from models.bundle.manifest import MANIFEST, Limits, Manifest, Quantization, Vocabulary
from models.config import RunConfig
from models.data.checksums import sha256
from models.data.tokenizer import Tokenizer
from models.network.context import Architecture
from models.network.model import TranslationModel
from models.training.checkpoints import DESCRIPTION, build_model, is_checkpoint, load_checkpoint


def describe(
    config: RunConfig,
    tokenizer: Tokenizer,
    architecture: Architecture,
    *,
    quantization: Quantization = "float32",
    scores: Mapping[str, float] | None = None,
    files: Mapping[str, str] | None = None,
) -> Manifest:
    """Return the manifest of what a run has trained.

    Args:
        config: the run's config.
        tokenizer: the run's tokenizer.
        architecture: the model's architecture.
        quantization: the type of the backbone's stored weights.
        scores: figures on test sets, by descriptive name.
        files: checksum of each file.
    """
    source_tokens = config.backbone.max_length - 1
    return Manifest(
        name=config.name,
        languages=config.languages,
        backbone=config.backbone,
        architecture=config.architecture,
        vocabulary=Vocabulary(
            source=len(tokenizer.source_pieces), target=len(tokenizer.target_pieces), joint=tokenizer.joint
        ),
        window=architecture.window,
        no_context=architecture.no_context,
        reads_target_context=architecture.reads_target,
        serves_sessions=not architecture.needs_following,
        decoding=config.decoding,
        limits=Limits(split_tokens=min(config.data.max_tokens - 1, source_tokens), source_tokens=source_tokens),
        quantization=quantization,
        provenance=config.provenance,
        scores=dict(scores or {}),
        files=dict(files or {}),
    )


def unloaded_model(folder: Path) -> TranslationModel:
    """Return the model of a bundle or a checkpoint on torch's `meta` device, without weights.

    Raises:
        BundleError: the bundle is malformed.
        CheckpointError: the checkpoint is damaged.
    """
    with torch.device("meta"):
        if is_checkpoint(folder):
            checkpoint = load_checkpoint(folder)
            return build_model(checkpoint.config, checkpoint.tokenizer, dropout=0.0)
        manifest = Manifest.load(folder)
        vocabulary = manifest.vocabulary
        return TranslationModel(manifest.backbone, manifest.architecture, vocabulary.source, vocabulary.target)


def name_of(folder: Path) -> str:
    """Return the name of a bundle or a checkpoint.

    Raises:
        BundleError: the bundle is malformed.
        CheckpointError: the checkpoint is damaged.
    """
    return load_checkpoint(folder).config.name if is_checkpoint(folder) else Manifest.load(folder).name


def identity(folder: Path) -> str:
    """Return the SHA-256 of a bundle's or a checkpoint's description, which includes the checksums of its weights."""
    return sha256(folder / (DESCRIPTION if is_checkpoint(folder) else MANIFEST))


def unfreezes(folder: Path) -> bool:
    """Return whether a checkpoint's run also trains the backbone; False for a bundle, which does not record its run.

    Raises:
        CheckpointError: the checkpoint is damaged.
    """
    return is_checkpoint(folder) and leaves_nothing_frozen(load_checkpoint(folder).config)


def leaves_nothing_frozen(config: RunConfig) -> bool:
    """Return whether a run trains the backbone with its context modules: unfrozen, or jointly from scratch."""
    return config.training.unfreeze or config.training.step == "joint"
