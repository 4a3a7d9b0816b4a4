"""Initial weights of a run from other runs, as far as they fit."""

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
    """Load the weights of `init` into a newly initialised model, and return their checksum.

    Args:
        model: the run's model.
        init: the checkpoint that `training.init` names.
        config: the run's config.
        tokenizer: the run's tokenizer.
        quiet: do not report unused context modules.

    Raises:
        CheckpointError: `init` or `training.modules` is damaged or does not fit.
        ConfigError: the encoder is to be deepened, but `init` has as many layers.
    """
    settings, start = config.training, load_checkpoint(init)
    require_same_vocabulary(init, start, config, tokenizer, source_only=settings.transfer == "source")
    require_fitting_start(init, start.config, config)
    if not quiet and _leaves_modules(start.config, config):
        print(
            f"{init}: its context modules are not used, but replaced by new ones; transfer: all uses them",
            file=sys.stderr,
        )
    known = deepen(model, start.weights) if settings.deepen else start.weights
    if settings.modules is not None:
        known = with_modules_of(model, known, _modules(settings.modules, config, tokenizer))
    load_weights(model, known, _taken_over(config))
    return start.checksum


def require_same_vocabulary(
    folder: Path, checkpoint: Checkpoint, config: RunConfig, tokenizer: Tokenizer, *, source_only: bool = False
) -> None:
    """Require the same vocabulary: weights refer to pieces by number, and would silently be applied to others.

    Raises:
        CheckpointError: the checkpoint's pieces differ from the run's.
    """
    known = checkpoint.tokenizer
    same_target = source_only or known.target_pieces == tokenizer.target_pieces
    if known.source_pieces != tokenizer.source_pieces or not same_target:
        raise CheckpointError(f"{folder}: was not trained with the tokenizer in {config.tokenizer.path}")


def require_known_or_trained(model: TranslationModel, config: RunConfig) -> None:
    """Require that a run that freezes its backbone has loaded it.

    Raises:
        ConfigError: a part of it stays random; the message names the first one.
    """
    for name, parameter in model.named_parameters():
        if name.startswith("backbone.") and not (name.startswith(_taken_over(config)) or parameter.requires_grad):
            raise ConfigError(
                f"{config.name}: with this transfer, {name} stays random, since step two does not train it"
            )


def require_backbone_to_slow_down(config: RunConfig, trained: Iterable[str]) -> None:
    """Require that `backbone_rate` applies to something: the architecture decides which parts step two trains.

    Raises:
        ConfigError: no trained parameter belongs to the backbone.
    """
    if config.training.backbone_rate != 1 and not any(name.startswith("backbone.") for name in trained):
        raise ConfigError(
            f"{config.name}: backbone_rate is for a backbone that is trained, and this one is frozen: set unfreeze, or"
            " backbone_rate to 1"
        )


def _leaves_modules(start: RunConfig, config: RunConfig) -> bool:
    """Whether `init` has context modules that the run could continue with, but its config does not say to."""
    kind, training = config.architecture.kind, config.training
    unused = training.transfer == "both" and training.modules is None
    return unused and kind != "sentence" and start.architecture.kind == kind


def _modules(folder: Path, config: RunConfig, tokenizer: Tokenizer) -> dict[str, Tensor]:
    """Load a checkpoint's weights, checking that its context modules fit the run."""
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
    """Return the prefixes of the weights that come from `training.init`."""
    if config.training.transfer == "all" or config.training.modules is not None:
        return ("",)
    if config.training.transfer == "both":
        return ("backbone.",)
    embedding = "target" if config.backbone.embeddings == "shared" else "source"
    return f"backbone.{embedding}_embedding.", "backbone.encoder.", "backbone.encoder_norm."
