"""The training objective and the learning-rate schedule."""

import math

import torch
from torch import Tensor

from models.config import ScheduleConfig
from models.data.batches import Batch
from models.data.tokenizer import PAD
from models.errors import DataError
from models.network.model import TranslationModel
from models.training.cross_entropy import cross_entropy


def target_of(batch: Batch) -> Tensor:
    """The target of a batch that has one, (B, T + 1)."""
    if batch.target is None:
        raise DataError("a batch without a target has no loss")
    return batch.target


def token_losses(model: TranslationModel, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of every target token given those before it, end of sentence included, in nats.

    Args:
        model: in training or evaluation mode.
        batch: with a target.
        label_smoothing: probability mass spread over all classes (Szegedy et al. 2016).

    Returns:
        (B, T), zero at padding.
    """
    target = target_of(batch)
    hidden = model.hidden(batch, target[:, :-1])
    expected = target[:, 1:]
    real = expected.ne(PAD)
    # The projection is the widest product of all, so padding is left out of it.
    losses = cross_entropy(model.logits(hidden[real]), expected[real], label_smoothing)
    return torch.zeros(expected.shape, dtype=losses.dtype, device=losses.device).masked_scatter(real, losses)


def weighted_sum(losses: Tensor, batch: Batch) -> Tensor:
    """The sum of the losses of tokens, (B, T), each as often as its sentence weighs."""
    return losses.sum() if batch.weights is None else (losses.sum(1) * batch.weights).sum()


def count_tokens(batch: Batch) -> tuple[int, float]:
    """Target tokens of a batch, end of sentence included, and what they weigh."""
    each = target_of(batch)[:, 1:].ne(PAD).sum(1)
    tokens = int(each.sum())
    return tokens, float(tokens if batch.weights is None else (each * batch.weights).sum())


def learning_rate(schedule: ScheduleConfig, update: int, updates: int, plateaus: int = 0) -> float:
    """The learning rate of an update, counted from 1, of so many, after so many plateaus of the dev loss.

    `inverse_sqrt` is Vaswani et al. 2017, eq. 3; `linear` ends at 0, where an update after the last one would be.
    """
    if schedule.kind == "plateau":
        return schedule.peak * min(update / schedule.warmup, 1.0) * schedule.factor**plateaus
    if schedule.kind == "linear":
        left = max(updates + 1 - update, 0) / max(updates + 1 - schedule.warmup, 1)
        return schedule.peak * min(update / schedule.warmup, left)
    return schedule.peak * min(update / schedule.warmup, math.sqrt(schedule.warmup / update))
