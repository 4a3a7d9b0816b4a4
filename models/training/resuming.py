"""Whether a run is the one that a checkpoint is of: only then does it come to the same end as without a stop."""

from pathlib import Path
from typing import Any

from models.config import RunConfig
from models.errors import CheckpointError
from models.training.checkpoints import Checkpoint, is_checkpoint, load_checkpoint
from models.training.meaning import members


def require_same_run(
    folder: Path, checkpoint: Checkpoint, config: RunConfig, corpus: str | None, processes: int
) -> None:
    """Refuse to go on from a checkpoint as another run.

    Args:
        folder: of the checkpoint.
        checkpoint: of the run as it was.
        config: of the run as it is.
        corpus: the fingerprint of what it is trained on.
        processes: that train it.

    Raises:
        CheckpointError: they differ in what decides how the run goes on; says in what.
    """
    if changed := _difference(checkpoint.config, config):
        raise CheckpointError(
            f"{folder}: was made with another configuration ({changed}); give this run another output folder"
        )
    _require_same_updates(folder, checkpoint, config.training.accumulation, processes)
    if checkpoint.progress.corpus not in (None, corpus):
        raise CheckpointError(f"{folder}: was trained on another corpus; the files have changed since")
    init = config.training.init
    # What the run began with may be gone: all that it has come to is in the checkpoint.
    there = None if init is None or not is_checkpoint(init) else load_checkpoint(init).checksum
    if None not in (there, checkpoint.progress.init) and there != checkpoint.progress.init:
        raise CheckpointError(f"{folder}: began with other weights than {init} has now")


def _require_same_updates(folder: Path, checkpoint: Checkpoint, accumulation: int, processes: int) -> None:
    """With other batches in an update, it would not be at the same place, nor have the same learning rate or end."""
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
    """What two configs differ in, besides when the run ends and what it reports; nothing, if in nothing else."""
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
