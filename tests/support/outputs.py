"""A model's outputs for whole targets."""

import torch
from torch import Tensor

from models.data.batches import Batch
from models.network.model import TranslationModel
from models.training.objective import target_of


@torch.no_grad()
def outputs(model: TranslationModel, batch: Batch) -> Tensor:
    """Log-probabilities of whole targets, (B, T, V)."""
    return model.logits(model.hidden(batch, target_of(batch)[:, :-1])).log_softmax(-1)
