"""The manifest of a checkpoint: what an export writes down, and what a runtime on the checkpoint itself says."""

from collections.abc import Mapping

from models.bundle.manifest import Limits, Manifest, Quantization, Vocabulary
from models.config import Provenance, RunConfig
from models.data.tokenizer import Tokenizer
from models.network.context import Architecture


def describe(
    config: RunConfig,
    tokenizer: Tokenizer,
    architecture: Architecture,
    *,
    quantization: Quantization = "float32",
    provenance: Provenance | None = None,
    scores: Mapping[str, float] | None = None,
    files: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest of what a run has trained.

    Args:
        config: of the run.
        tokenizer: of the run.
        architecture: of the model.
        quantization: of the backbone's stored weights.
        provenance: in place of the run's own.
        scores: figures on test sets, by a name that says which.
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
        decoding=config.decoding,
        limits=Limits(split_tokens=min(config.data.max_tokens - 1, source_tokens), source_tokens=source_tokens),
        quantization=quantization,
        provenance=provenance or config.provenance,
        scores=dict(scores or {}),
        files=dict(files or {}),
    )
