"""What a run begins with: the weights of other runs, as far as they fit."""

import sys
from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from models.config import COUNTS_FROM_THE_TOP, RunConfig
from models.data.tokenizer import Tokenizer
from models.errors import CheckpointError, ConfigError
from models.network.model import TranslationModel
from models.training.checkpoints import Checkpoint, load_checkpoint, load_weights
from models.training.growth import deepen, with_modules_of
from models.training.meaning import require_fitting_modules, require_fitting_start


def begin(model: TranslationModel, init: Path, config: RunConfig, tokenizer: Tokenizer, *, quiet: bool) -> str:
    """Let a model that has just been initialised begin with the weights of `init`; gives their checksum.

    Args:
        model: of the run.
        init: the checkpoint that `training.init` names.
        config: of the run.
        tokenizer: of the run.
        quiet: say nothing of context modules that are not used.

    Raises:
        CheckpointError: it, or `training.modules`, is damaged or does not fit.
        ConfigError: it is to be deepened, and has as many layers.
    """
    settings, start = config.training, load_checkpoint(init)
    require_same_vocabulary(init, start, config, tokenizer, source_only=settings.transfer == "source")
    require_fitting_start(init, start.config, config)
    if not quiet and _leaves_modules(start.config, config):
        print(f"{init}: its context modules are not used, and new ones begin; transfer: all uses them", file=sys.stderr)
    known = deepen(model, start.weights) if settings.deepen else start.weights
    if settings.modules is not None:
        known = with_modules_of(model, known, _modules(settings.modules, config, tokenizer))
    load_weights(model, known, _taken_over(config))
    return start.checksum


def require_same_vocabulary(
    folder: Path, checkpoint: Checkpoint, config: RunConfig, tokenizer: Tokenizer, *, source_only: bool = False
) -> None:
    """Weights know pieces by their numbers, and would take them for others without a word.

    Raises:
        CheckpointError: the checkpoint's are others than the run's.
    """
    known = checkpoint.tokenizer
    same_target = source_only or known.target_pieces == tokenizer.target_pieces
    if known.source_pieces != tokenizer.source_pieces or not same_target:
        raise CheckpointError(f"{folder}: was not trained with the tokenizer in {config.tokenizer.path}")


def require_known_or_trained(model: TranslationModel, config: RunConfig) -> None:
    """See to it that a run that has frozen its backbone has taken it over.

    Raises:
        ConfigError: a part of it stays random; names the first one.
    """
    for name, parameter in model.named_parameters():
        if name.startswith("backbone.") and not (name.startswith(_taken_over(config)) or parameter.requires_grad):
            raise ConfigError(
                f"{config.name}: with this transfer, {name} stays random, since step two does not train it"
            )


def require_backbone_to_slow_down(config: RunConfig, trained: Iterable[str]) -> None:
    """See to it that a rate of the backbone is that of something: which parts step two trains, the architecture says.

    Raises:
        ConfigError: no parameter that is trained is one of the backbone.
    """
    if config.training.backbone_rate != 1 and not any(name.startswith("backbone.") for name in trained):
        raise ConfigError(
            f"{config.name}: backbone_rate is for a backbone that is trained, and this one is frozen: set unfreeze, or"
            " backbone_rate to 1"
        )


def _leaves_modules(start: RunConfig, config: RunConfig) -> bool:
    """Whether there are context modules that a run could go on with, and its file does not say that it does."""
    kind, training = config.architecture.kind, config.training
    unused = training.transfer == "both" and training.modules is None
    return unused and kind != "sentence" and start.architecture.kind == kind


def _modules(folder: Path, config: RunConfig, tokenizer: Tokenizer) -> dict[str, Tensor]:
    """The weights of a checkpoint whose context modules fit a run."""
    found = load_checkpoint(folder)
    require_same_vocabulary(folder, found, config, tokenizer)
    kind, other = config.architecture.kind, found.config
    if other.architecture.kind != kind:
        raise CheckpointError(f"{folder}: has context modules of {other.architecture.kind}, not of {kind}")
    if kind in COUNTS_FROM_THE_TOP and other.backbone.encoder_layers != config.backbone.encoder_layers:
        raise CheckpointError(f"{folder}: its encoder has another depth, and {kind} counts the layers from the top")
    require_fitting_modules(folder, other, config)
    return found.weights


def _taken_over(config: RunConfig) -> tuple[str, ...]:
    """What the names of the weights begin with that come from `training.init`."""
    if config.training.transfer == "all" or config.training.modules is not None:
        return ("",)
    if config.training.transfer == "both":
        return ("backbone.",)
    embedding = "target" if config.backbone.embeddings == "shared" else "source"
    return f"backbone.{embedding}_embedding.", "backbone.encoder.", "backbone.encoder_norm."
