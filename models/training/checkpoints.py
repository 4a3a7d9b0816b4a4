"""Checkpoints: weights, optimiser and progress in a folder of safetensors and JSON; nothing is pickled.

A checkpoint appears complete or not at all: it is written beside its destination and renamed into place, so a full disk
or a kill leaves the last good one untouched.
"""

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import torch
from pydantic import ConfigDict, TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from models.config import RunConfig
from models.data.checksums import sha256
from models.data.tokenizer import Tokenizer
from models.data.whole import FORMER, abandoned, beside, put_folder
from models.errors import CheckpointError
from models.network.model import TranslationModel

FORMAT = 1
WEIGHTS = "model.safetensors"
OPTIMIZER = "optimizer.safetensors"
DESCRIPTION = "checkpoint.json"
_OF_A_RUN: Final = re.compile("update-[0-9]+")
"""Names of a run's checkpoints; copies that somebody puts beside them are named otherwise."""


@dataclass
class Progress:
    """Progress of a run; with the seed it determines all that follows (dropout is reseeded at each update)."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    update: int = 0
    epoch: int = 0
    position: int = 0
    """Batches of the epoch that are done, by all processes together."""
    target_tokens: int = 0
    best_loss: float | None = None
    best_update: int | None = None
    """Update with the lowest dev loss; None in a checkpoint older than this field."""
    stale: int = 0
    """Validations since the best one."""
    plateaus: int = 0
    """Number of times that the schedule's patience of stale validations in a row was reached."""
    corpus: str | None = None
    """Fingerprint of the training corpus; None in a checkpoint older than this field."""
    init: str | None = None
    """Checksum of the initial weights, if the run began with any; None in a checkpoint older than this field."""

    processes: int | None = None
    """Number of processes that made the last update; None before the first one, or in an older checkpoint."""

    def judge(self, loss: float, patience: int) -> None:
        """Record the dev loss of a validation; `patience` stale ones in a row are a plateau."""
        if self.best_loss is None or loss < self.best_loss:
            self.best_loss, self.best_update, self.stale = loss, self.update, 0
        else:
            self.stale += 1
            self.plateaus += self.stale % patience == 0


@dataclass(frozen=True)
class Checkpoint:
    """Contents of a checkpoint folder."""

    config: RunConfig
    progress: Progress
    tokenizer: Tokenizer
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    checksum: str
    """Checksum of the weights."""

    @property
    def vocabularies(self) -> tuple[Sequence[str], Sequence[str]]:
        """Pieces of source and target: equal ids mean equal pieces only if these are the same."""
        return self.tokenizer.source_pieces, self.tokenizer.target_pieces


def save_checkpoint(
    folder: Path,
    config: RunConfig,
    tokenizer: Tokenizer,
    weights: dict[str, Tensor],
    progress: Progress,
    optimizer: dict[str, Tensor] | None = None,
) -> None:
    """Write a checkpoint atomically.

    Raises:
        CheckpointError: it could not be written, for instance on a full disk; any earlier checkpoint there is kept.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = beside(folder)
    try:
        for left in abandoned(folder):
            _remove(left)
        partial.mkdir()
        tokenizer.save(partial)
        (partial / WEIGHTS).write_bytes(save(_contiguous(weights)))  # `save_file` hides it from other users
        if optimizer is not None:
            (partial / OPTIMIZER).write_bytes(save(_contiguous(optimizer)))
        description = {
            "format": FORMAT,
            "config": config.model_dump(mode="json"),
            "progress": asdict(progress),
            "files": {file.name: sha256(file) for file in sorted(partial.iterdir())},
        }
        (partial / DESCRIPTION).write_text(json.dumps(description, indent=1), encoding="utf-8")
        _sync(partial)
        put_folder(partial, folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise CheckpointError(f"{folder}: could not be written: {error}") from error


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read a checkpoint and check it.

    Raises:
        CheckpointError: it is missing, damaged, or not written by this project.
    """
    description = _describe(folder)
    try:
        for name, digest in description["files"].items():
            if sha256(folder / name) != digest:
                raise CheckpointError(f"{folder}: {name} is damaged: its checksum does not match")
        optimizer = folder / OPTIMIZER
        return Checkpoint(
            RunConfig.model_validate(description["config"]),
            TypeAdapter(Progress).validate_python(description["progress"]),
            Tokenizer.load(folder),
            load_file(folder / WEIGHTS),
            load_file(optimizer) if optimizer.exists() else {},
            description["files"][WEIGHTS],
        )
    except (OSError, AttributeError, KeyError, TypeError, SafetensorError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{folder}: is damaged, or was not written by this program: {reason}") from error


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder claims to be a checkpoint."""
    return (folder / DESCRIPTION).is_file()


def load_model(checkpoint: Checkpoint) -> TranslationModel:
    """Build the model of a checkpoint, in evaluation mode.

    Raises:
        CheckpointError: the weights do not fit the config stored with them.
    """
    model = build_model(checkpoint.config, checkpoint.tokenizer, dropout=0.0)
    load_weights(model, checkpoint.weights)
    return model.eval()


def build_model(config: RunConfig, tokenizer: Tokenizer, dropout: float) -> TranslationModel:
    """Build an uninitialised model for a config and its vocabularies."""
    sizes = len(tokenizer.source_pieces), len(tokenizer.target_pieces)
    return TranslationModel(config.backbone, config.architecture, *sizes, dropout)


def weights_of(model: TranslationModel) -> dict[str, Tensor]:
    """Return all tensors of a model by name, tied ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_weights(model: TranslationModel, weights: dict[str, Tensor], prefix: str | tuple[str, ...] = "") -> None:
    """Copy weights into a model: all, or those whose names start with `prefix`, which may be several.

    Raises:
        CheckpointError: a tensor is missing, superfluous or of another shape.
    """
    own = {name: p for name, p in model.named_parameters() if name.startswith(prefix)}
    given = {name: tensor for name, tensor in weights.items() if name.startswith(prefix)}
    if odd := own.keys() ^ given.keys():
        raise CheckpointError(f"the weights do not fit the model: only one of them has {min(odd)}")
    for name, parameter in own.items():
        if parameter.shape != given[name].shape:
            shapes = f"{list(given[name].shape)}, not {list(parameter.shape)}"
            raise CheckpointError(f"the weights do not fit the model: {name} has the shape {shapes}")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(given[name])


def remove_leftovers(run: Path) -> None:
    """Delete what killed processes left half written, replaced or deleted; files of live processes stay."""
    for folder in (run / "final", *_begun(run)):
        for left in (*abandoned(folder), *abandoned(folder, FORMER)):
            _remove(left)
    for folder in _of_a_run(run):
        if not is_checkpoint(folder):
            _remove(folder)


def list_checkpoints(run: Path) -> list[Path]:
    """Return the checkpoints of a run, oldest first."""
    return sorted(filter(is_checkpoint, _of_a_run(run)), key=update_of)


def require_new(run: Path) -> None:
    """Refuse to start where a run has already written, rather than continue from that or overwrite it.

    Raises:
        CheckpointError: the run has a final or another checkpoint.
    """
    for made in (run / "final", *list_checkpoints(run)):
        if made.exists():
            raise CheckpointError(f"{made}: already exists; remove it, or give the run another output folder")


def update_of(folder: Path) -> int:
    """Return the update after which a checkpoint of a run was written."""
    return int(folder.name.rpartition("-")[2])


def remove_checkpoint(folder: Path) -> None:
    """Delete a checkpoint; its description goes first, so that a half-deleted one is never taken for complete."""
    (folder / DESCRIPTION).unlink()
    shutil.rmtree(folder)


def _of_a_run(run: Path) -> list[Path]:
    return [folder for folder in (run / "checkpoints").glob("update-*") if _OF_A_RUN.fullmatch(folder.name)]


def _begun(run: Path) -> list[Path]:
    """Return the checkpoints of a run that have temporary folders beside them."""
    folder = run / "checkpoints"
    names = {beside_it.name.split(".")[1] for beside_it in folder.glob(".update-*")}
    return [folder / name for name in sorted(names) if _OF_A_RUN.fullmatch(name)]


def _remove(left: Path) -> None:
    if left.is_dir() and not left.is_symlink():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _describe(folder: Path) -> dict[str, Any]:
    try:
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: is not a checkpoint: it has no {DESCRIPTION}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder}: {DESCRIPTION} cannot be read: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise CheckpointError(f"{folder}: is not a checkpoint of format {FORMAT}")
    return description


def _contiguous(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def _sync(folder: Path) -> None:
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
