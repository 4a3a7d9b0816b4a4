"""The optimiser: Adam, or Muon for the matrices inside the network and Adam for all else."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import Adam
from torch.optim import Optimizer as TorchOptimizer

from models.config import TrainingConfig
from models.errors import CheckpointError, DivergedError
from models.network.model import TranslationModel
from models.training.distributed import World
from models.training.muon import Muon


class Optimizer:
    """The optimiser of a run; learning rates have the same meaning with Muon and with Adam."""

    def __init__(self, model: TranslationModel, settings: TrainingConfig, world: World) -> None:
        """Optimise the trained parameters of `model`, identically in each process of `world`."""
        self.trained: Final = {name: p for name, p in model.named_parameters() if p.requires_grad}
        matrices = _inner_matrices(model) if settings.optimizer == "muon" else set()
        by_muon = _groups({name: p for name, p in self.trained.items() if p in matrices}, settings)
        by_adam = _groups({name: p for name, p in self.trained.items() if p not in matrices}, settings)
        self._parts: Final[list[TorchOptimizer]] = []
        if by_muon:
            self._parts.append(Muon(by_muon, world))
        if by_adam:
            betas, epsilon = settings.adam_betas, settings.adam_epsilon
            self._parts.append(Adam(by_adam, betas=betas, eps=epsilon, fused=True))
        self._clip_norm: Final = settings.clip_norm
        self._world: Final = world

    def share_gradients(self) -> None:
        """Sum the gradients of all processes, whose batches need not have used the same parameters.

        A parameter that no process has used gets no gradient, as in a single process.
        """
        if self._world.size == 1:
            return
        parameters = list(self.trained.values())
        used = torch.tensor([float(p.grad is not None) for p in parameters], device=self._world.device)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        self._world.sum_tensors([used, *gradients])
        for p, gradient, by in zip(parameters, gradients, used.tolist(), strict=True):
            p.grad = gradient if by else None

    def step(self, rate: float) -> None:
        """Take a step at a learning rate with gradients clipped to norm `clip_norm`, then clear them.

        Raises:
            DivergedError: a gradient is not finite; nothing has been moved.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.trained.values(), self._clip_norm)
        if not torch.isfinite(norm):
            raise DivergedError(
                f"the training has diverged: the norm of its gradients is {norm.item()}; restart from an earlier"
                " checkpoint with a lower peak of the learning rate, since the last checkpoint may already be bad"
            )
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate * group["share"]
            part.step()
            part.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the optimiser state, by `what/parameter`."""
        return {
            f"{key}/{name}": value
            for name, p in self.trained.items()
            for part in self._parts
            for key, value in part.state.get(p, {}).items()
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` returned.

        Raises:
            CheckpointError: it has parameters that are not trained here.
        """
        part_of = {p: part for part in self._parts for group in part.param_groups for p in group["params"]}
        for key, tensor in tensors.items():
            kind, _, name = key.partition("/")
            if name not in self.trained:
                raise CheckpointError(f"the optimiser state does not fit: {name} is not trained here")
            p = self.trained[name]
            part_of[p].state[p][kind] = tensor.to(p.device)


def _groups(parameters: Mapping[str, nn.Parameter], settings: TrainingConfig) -> list[dict[str, Any]]:
    """Group parameters by backbone and context modules, each with its factor of the learning rate."""
    backbone = [p for name, p in parameters.items() if name.startswith("backbone.")]
    modules = [p for name, p in parameters.items() if not name.startswith("backbone.")]
    shares = ((backbone, settings.backbone_rate), (modules, 1.0))
    return [{"params": group, "share": share} for group, share in shares if group]


def _inner_matrices(model: TranslationModel) -> set[Tensor]:
    """Return the weights of inner linear layers; embeddings and output are tables of words rather than maps."""
    return {module.weight for module in model.modules() if isinstance(module, nn.Linear)} - {
        model.backbone.output.weight
    }
