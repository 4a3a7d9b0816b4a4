"""Averages of weights: of the last checkpoints of a run, or of several runs with a common start."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from torch import Tensor

from models.config import RunConfig
from models.errors import CheckpointError, ConfigError
from models.training.checkpoints import Checkpoint, load_checkpoint, save_checkpoint

_OF_NO_WEIGHT: Final = {"max_length", "context_sentences"}
"""Config values of a network that may differ between runs whose weights are averaged."""


def average(folders: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of several checkpoints (Vaswani et al. 2017, section 6.1), summed in float64.

    A tensor that is the same in all of them, such as a frozen one, stays the same to the bit, as its sum is exact. A
    tensor that some lack is averaged over the others. The first checkpoint has all tensors.
    """
    first = load_checkpoint(folders[0]).weights
    total, count = {name: tensor.double() for name, tensor in first.items()}, dict.fromkeys(first, 1)
    for folder in folders[1:]:
        for name, tensor in load_checkpoint(folder).weights.items():
            total[name] += tensor
            count[name] += 1
    return {name: (tensor / count[name]).to(first[name].dtype) for name, tensor in total.items()}


def average_runs(folders: Sequence[Path], out: Path, name: str | None = None) -> None:
    """Write the average of several checkpoints of one network: a model soup (Wortsman et al. 2022, section 2).

    This only makes sense for runs that began with the same weights; those of unrelated runs have nothing in common. The
    run, and with it the model's name unless `name` is given, is the first one's; a checkpoint given twice counts twice.
    A sentence model may follow one with context, whose context modules then stay as they are.

    Raises:
        CheckpointError: one is missing or damaged, or they differ in shape or vocabulary; or `out` already exists.
        ConfigError: `name` is no valid name of a run.
    """
    if out.exists():
        raise CheckpointError(f"{out}: already exists")
    first = load_checkpoint(folders[0])
    for folder in folders[1:]:
        _require_alike(first, load_checkpoint(folder), folder)
    config = first.config if name is None else _renamed(first.config, name)
    save_checkpoint(out, config, first.tokenizer, average(folders), first.progress)


def _renamed(config: RunConfig, name: str) -> RunConfig:
    try:
        return RunConfig.model_validate(config.model_dump() | {"name": name})
    except ValidationError as error:
        raise ConfigError(f"name: {error.errors()[0]['msg']}") from None


def _require_alike(first: Checkpoint, other: Checkpoint, folder: Path) -> None:
    if first.vocabularies != other.vocabularies:
        raise CheckpointError(f"{folder}: its vocabulary differs from that of the first checkpoint")
    shapes, others = ({name: each.shape for name, each in one.weights.items()} for one in (first, other))
    names = others.keys() if other.config.architecture.kind == "sentence" else shapes.keys() | others.keys()
    odd = [name for name in names if shapes.get(name) != others.get(name)] or _unlike(first.config, other.config)
    if odd:
        raise CheckpointError(f"{folder}: its network differs from that of the first checkpoint, in {min(odd)}")


def _unlike(first: RunConfig, other: RunConfig) -> list[str]:
    """Return differences that change what the weights compute: all but how much input the network is given."""
    pairs: list[tuple[str, Any, Any]] = [
        ("languages", first.languages, other.languages),
        ("backbone", first.backbone, other.backbone),
    ]
    if other.architecture.kind != "sentence":
        pairs.append(("architecture", first.architecture, other.architecture))
    return [f"{part}.{name}" for part, one, its in pairs for name in _differing(one.model_dump(), its.model_dump())]


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in one if one[name] != other.get(name) and name not in _OF_NO_WEIGHT]
