"""The model that translates without context: the one that a context model was trained from, or another one."""

from pathlib import Path

from models.config import SentenceConfig
from models.errors import BundleError, CheckpointError
from models.network.model import TranslationModel
from models.training.checkpoints import Checkpoint, load_checkpoint, load_model


def sentence_model_of(trained: Checkpoint, model: TranslationModel) -> TranslationModel | None:
    """Return the model of step one, in evaluation mode; None if there is none with the same vocabularies.

    There is none if the context model was trained from scratch, or on the encoder of a model that translates into other
    pieces. If no step since has changed the backbone, it is the backbone of `model`, with shared weights.

    Args:
        trained: the checkpoint of the context model.
        model: the model of that checkpoint.

    Raises:
        CheckpointError: a step has changed the backbone, and the checkpoint that it started from is missing or damaged,
            or has been trained again since.
    """
    settings = trained.config.training
    if settings.step == "joint":
        return None
    changed = settings.unfreeze or any(map(model.architecture.trains, _backbone_parameters(model)))
    if settings.init is None or not changed:
        return sentence_model(model)
    before = load_checkpoint(settings.init)
    if trained.progress.init not in (None, before.checksum):
        raise CheckpointError(
            f"{settings.init}: is not what {trained.config.name} began with; it has been trained again since"
        )
    if before.vocabularies != trained.vocabularies:
        return None
    if settings.transfer == "all":  # it already had context modules, and may have changed the backbone as well
        return sentence_model_of(before, load_model(before))
    return sentence_model(load_model(before))


def sentence_model_beside(trained: Checkpoint, folder: Path) -> TranslationModel:
    """Return a checkpoint's backbone as the sentence model for `trained`, in evaluation mode.

    Raises:
        BundleError: it has other languages or vocabularies, or fewer positions.
        CheckpointError: the checkpoint is damaged.
    """
    beside = load_checkpoint(folder)
    # Equal vocabularies are not enough: with a shared one, a model for the other direction has the same pieces.
    if trained.config.languages != beside.config.languages:
        raise BundleError(f"{folder}: does not translate the same languages as the model that is exported with it")
    if trained.vocabularies != beside.vocabularies:
        raise BundleError(f"{folder}: does not have the same vocabularies as the model that is exported with it")
    if beside.config.backbone.max_length < trained.config.backbone.max_length:
        raise BundleError(f"{folder}: has fewer positions (max_length) than the model that is exported with it")
    return sentence_model(load_model(beside))


def sentence_model(model: TranslationModel) -> TranslationModel:
    """Return the backbone of a model as a model without context; the weights are shared."""
    bare = TranslationModel(model.backbone.config, SentenceConfig(), 1, 1)  # small: its backbone is replaced at once
    bare.backbone = model.backbone
    return bare.eval()


def _backbone_parameters(model: TranslationModel) -> list[str]:
    return [name for name, _ in model.named_parameters() if name.startswith("backbone.")]
