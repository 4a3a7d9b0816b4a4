"""What translates without context: the sentence model that a context model was trained from, or one beside it."""

from pathlib import Path

from models.config import SentenceConfig
from models.errors import BundleError, CheckpointError
from models.network.model import TranslationModel
from models.training.checkpoints import Checkpoint, load_checkpoint, load_model


def sentence_model_of(trained: Checkpoint, model: TranslationModel) -> TranslationModel | None:
    """The model of step one, in evaluation mode; None where there is none that gives the same words.

    So it is where the context model was trained from scratch, or on the encoder of a model that translates into other
    pieces. Where no step since has changed the backbone, that is the backbone of `model`, with its weights shared.

    Args:
        trained: the checkpoint of the context model.
        model: what it holds.

    Raises:
        CheckpointError: one has, and the checkpoint that it began with is gone or damaged, or has been trained anew.
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
    if settings.transfer == "all":  # that had context modules already, and may have changed the backbone as well
        return sentence_model_of(before, load_model(before))
    return sentence_model(load_model(before))


def sentence_model_beside(trained: Checkpoint, folder: Path) -> TranslationModel:
    """A sentence model to translate what `trained` does without context: the backbone of a checkpoint, evaluating.

    Raises:
        BundleError: it has other languages or vocabularies, or fewer positions.
        CheckpointError: the checkpoint is damaged.
    """
    beside = load_checkpoint(folder)
    # Where both languages share a vocabulary, a model of the other direction has the same pieces.
    if trained.config.languages != beside.config.languages:
        raise BundleError(f"{folder}: does not translate the same languages as the model that is exported with it")
    if trained.vocabularies != beside.vocabularies:
        raise BundleError(f"{folder}: does not have the same vocabularies as the model that is exported with it")
    if beside.config.backbone.max_length < trained.config.backbone.max_length:
        raise BundleError(f"{folder}: has fewer positions (max_length) than the model that is exported with it")
    return sentence_model(load_model(beside))


def sentence_model(model: TranslationModel) -> TranslationModel:
    """The backbone of a model as a model without context; the weights are shared."""
    bare = TranslationModel(model.backbone.config, SentenceConfig(), 1, 1)  # small: its backbone goes at once
    bare.backbone = model.backbone
    return bare.eval()


def _backbone_parameters(model: TranslationModel) -> list[str]:
    return [name for name, _ in model.named_parameters() if name.startswith("backbone.")]
