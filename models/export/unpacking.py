"""From a bundle back to a checkpoint, to continue training from: the reverse of `export`."""

from pathlib import Path

from models.bundle.manifest import Manifest
from models.bundle.weights import model_weights
from models.config import ArchitectureConfig, BertContextConfig, DocTransformerConfig, RunConfig, SentenceConfig
from models.data.tokenizer import Tokenizer
from models.errors import BundleError, CheckpointError
from models.training.checkpoints import Progress, build_model, load_weights, require_new, save_checkpoint, weights_of


def unpack_bundle(bundle: Path, config: RunConfig) -> Path:
    """Write the tokenizer and the final checkpoint of a run, as if the run had trained the bundle's model.

    A run of the sentence model gets only the backbone: that is step one's model if step two kept it frozen. Weights
    that the bundle has rounded to int8 or float16 stay rounded.

    Args:
        bundle: the bundle's folder.
        config: the run's config, with the same sizes; tokenizer and checkpoint are written where it says.

    Returns:
        The checkpoint's folder.

    Raises:
        BundleError: the bundle is damaged, or its model is not the run's.
        CheckpointError: the run already has a checkpoint or another tokenizer, or the checkpoint cannot be written.
    """
    manifest = Manifest.load(bundle)
    manifest.verify(bundle)
    config = config.model_copy(update={"architecture": _architecture(bundle, manifest, config)})
    require_new(config.output)
    tokenizer = Tokenizer.load(bundle)
    tokenizer.keep(config.tokenizer.path)
    model = build_model(config, tokenizer, dropout=0.0)
    try:
        load_weights(
            model,
            model_weights(bundle, manifest, model),
            "backbone." if isinstance(config.architecture, SentenceConfig) else "",
        )
    except CheckpointError as error:
        raise BundleError(f"{bundle}: cannot be unpacked: {error}") from error
    final = config.output / "final"
    save_checkpoint(final, config, tokenizer, weights_of(model), Progress())
    return final


def _architecture(bundle: Path, manifest: Manifest, config: RunConfig) -> ArchitectureConfig:
    """Return the checkpoint's architecture: the bundle's, or that of a sentence model if the run trains one."""
    if manifest.languages != config.languages:
        raise BundleError(f"{bundle}: its languages are not those of the run {config.name}")
    if manifest.backbone != config.backbone:
        raise BundleError(f"{bundle}: its backbone has other sizes than that of the run {config.name}")
    if manifest.vocabulary.joint != config.tokenizer.joint:
        count = "one vocabulary" if manifest.vocabulary.joint else "two vocabularies"
        raise BundleError(f"{bundle}: has {count}, but the run {config.name} does not")
    ours, theirs = config.architecture, manifest.architecture
    if isinstance(ours, SentenceConfig):
        return ours
    if isinstance(ours, BertContextConfig) and isinstance(theirs, BertContextConfig):
        # The bundle's own BERT may be rounded; the checksum ensures that the run's is the one it was made from.
        theirs = theirs.model_copy(update={"bert": ours.bert})
    if isinstance(ours, DocTransformerConfig) and isinstance(theirs, DocTransformerConfig):
        theirs = theirs.model_copy(update={"context_sentences": ours.context_sentences})  # no weight depends on it
    if theirs.model_dump(exclude={"bert_checksum"}) != ours.model_dump(exclude={"bert_checksum"}):
        raise BundleError(f"{bundle}: its architecture, or a value of it, differs from the run {config.name}")
    return theirs
