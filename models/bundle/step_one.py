"""The sentence model that a context model was trained from: what translates without context."""

from models.config import SentenceConfig
from models.network.model import TranslationModel
from models.training.checkpoints import Checkpoint, load_checkpoint, load_model


def sentence_model_of(trained: Checkpoint, model: TranslationModel) -> TranslationModel | None:
    """The model of step one, in evaluation mode; None where the context model was trained from scratch.

    Where step two left the backbone as it was, that is the backbone of `model`, with its weights shared.

    Args:
        trained: the checkpoint of the context model.
        model: what it holds.

    Raises:
        CheckpointError: step two changed the backbone, and the checkpoint that it began with is gone or damaged.
    """
    settings = trained.config.training
    if settings.step == "joint":
        return None
    changed = settings.unfreeze or any(map(model.architecture.trains, _backbone_parameters(model)))
    if settings.init is None or not changed:
        return sentence_model(model)
    return sentence_model(load_model(load_checkpoint(settings.init)))


def sentence_model(model: TranslationModel) -> TranslationModel:
    """The backbone of a model as a model without context; the weights are shared."""
    bare = TranslationModel(model.backbone.config, SentenceConfig(), 1, 1)  # small: its backbone goes at once
    bare.backbone = model.backbone
    return bare.eval()


def _backbone_parameters(model: TranslationModel) -> list[str]:
    return [name for name, _ in model.named_parameters() if name.startswith("backbone.")]
