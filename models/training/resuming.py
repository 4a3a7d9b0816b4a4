"""Checks that a run is the one its checkpoint belongs to: only then does it end as if it had not been stopped."""

from pathlib import Path
from typing import Any

from models.config import RunConfig
from models.errors import CheckpointError
from models.training.checkpoints import Checkpoint, is_checkpoint, load_checkpoint
from models.training.meaning import members


def require_same_run(
    folder: Path, checkpoint: Checkpoint, config: RunConfig, corpus: str | None, processes: int
) -> None:
    """Refuse to continue another run's checkpoint.

    Args:
        folder: folder of the checkpoint.
        checkpoint: state of the run as it was.
        config: config of the run as it is.
        corpus: fingerprint of the training corpus.
        processes: number of processes that train.

    Raises:
        CheckpointError: they differ in what determines the rest of the run; the message says in what.
    """
    if changed := _difference(checkpoint.config, config):
        raise CheckpointError(
            f"{folder}: was made with another configuration ({changed}); give this run another output folder"
        )
    _require_same_updates(folder, checkpoint, config.training.accumulation, processes)
    if checkpoint.progress.corpus not in (None, corpus):
        raise CheckpointError(f"{folder}: was trained on another corpus; the files have changed since")
    init = config.training.init
    # The initial weights may be gone: all that has become of them is in the checkpoint.
    there = None if init is None or not is_checkpoint(init) else load_checkpoint(init).checksum
    if None not in (there, checkpoint.progress.init) and there != checkpoint.progress.init:
        raise CheckpointError(f"{folder}: began with other weights than {init} has now")


def _require_same_updates(folder: Path, checkpoint: Checkpoint, accumulation: int, processes: int) -> None:
    """Require as many batches per update: otherwise position, learning rate and end would differ."""
    before, accumulated = checkpoint.progress.processes or processes, checkpoint.config.training.accumulation
    if processes * accumulation != before * accumulated:
        raise CheckpointError(
            f"{folder}: was made by {_counted(before)} with training.accumulation {accumulated}, but this is"
            f" {_counted(processes)} with {accumulation}: resume with {before}, or change the accumulation so that"
            f" processes x accumulation stays {before * accumulated}"
        )


def _counted(processes: int) -> str:
    return f"{processes} process{'es' * (processes > 1)}"


def _difference(one: RunConfig, other: RunConfig) -> str | None:
    """Describe the first difference between two configs, besides when the run ends and what it reports, or None."""
    free = ("updates", "epochs", "patience", "log_every", "validate_every", "checkpoint_every", "keep", "average")
    ignored: Any = {
        "output": True,
        "name": True,
        "provenance": True,
        "decoding": True,
        "training": {*free, "dev_sentences", "accumulation"},
    }
    before, after = (dict(members(config.model_dump(exclude=ignored))) for config in (one, other))
    names = (name for name in before | after if before.get(name) != after.get(name))
    return next((f"{name} was {before.get(name)}, is {after.get(name)}" for name in names), None)
