"""Counts of a model's parameters by part."""

from dataclasses import dataclass

from models.network.model import TranslationModel


@dataclass(frozen=True, slots=True)
class Part:
    """Parameter counts of one part; a tied matrix counts once, where it is first used."""

    name: str
    trained: int
    """Number of parameters that step two trains."""
    frozen: int
    """Number of parameters that it leaves unchanged."""


def count_parameters(model: TranslationModel, *, unfreeze: bool = False) -> list[Part]:
    """Count the parameters of each part of backbone and architecture, in the order of the model.

    With `unfreeze` (see `models.config.TrainingConfig`) all of them count as trained.
    """
    counts: dict[str, list[int]] = {}
    for name, parameter in model.named_parameters():
        part = ".".join(name.split(".")[:2])
        trained_frozen = counts.setdefault(part, [0, 0])
        trained_frozen[0 if unfreeze or model.architecture.trains(name) else 1] += parameter.numel()
    return [Part(name, *numbers) for name, numbers in counts.items()]
