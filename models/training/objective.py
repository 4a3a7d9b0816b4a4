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
    """Return the target of a batch, (B, T + 1), which must have one."""
    if batch.target is None:
        raise DataError("a batch without a target has no loss")
    return batch.target


def token_losses(model: TranslationModel, batch: Batch, label_smoothing: float = 0.0) -> Tensor:
    """Compute the cross-entropy of every target token given those before it, end of sentence included, in nats.

    Args:
        model: in training or evaluation mode.
        batch: a batch with a target.
        label_smoothing: probability mass spread over all classes (Szegedy et al. 2016).

    Returns:
        (B, T), zero at padding.
    """
    target = target_of(batch)
    hidden = model.hidden(batch, target[:, :-1])
    expected = target[:, 1:]
    real = expected.ne(PAD)
    # The projection is the widest product of all, so it skips padding.
    losses = cross_entropy(model.logits(hidden[real]), expected[real], label_smoothing)
    return torch.zeros(expected.shape, dtype=losses.dtype, device=losses.device).masked_scatter(real, losses)


def weighted_sum(losses: Tensor, batch: Batch) -> Tensor:
    """Return the sum of token losses, (B, T), each times the weight of its sentence."""
    return losses.sum() if batch.weights is None else (losses.sum(1) * batch.weights).sum()


def count_tokens(batch: Batch) -> tuple[int, float]:
    """Return the number of target tokens of a batch, end of sentence included, and their total weight."""
    each = target_of(batch)[:, 1:].ne(PAD).sum(1)
    tokens = int(each.sum())
    return tokens, float(tokens if batch.weights is None else (each * batch.weights).sum())


def learning_rate(schedule: ScheduleConfig, update: int, updates: int, plateaus: int = 0) -> float:
    """Return the learning rate of `update`, counted from 1, out of `updates`, after `plateaus` of the dev loss.

    `inverse_sqrt` is Vaswani et al. 2017, eq. 3; `linear` would reach 0 at the update after the last one.
    """
    if schedule.kind == "plateau":
        return schedule.peak * min(update / schedule.warmup, 1.0) * schedule.factor**plateaus
    if schedule.kind == "linear":
        left = max(updates + 1 - update, 0) / max(updates + 1 - schedule.warmup, 1)
        return schedule.peak * min(update / schedule.warmup, left)
    return schedule.peak * min(update / schedule.warmup, math.sqrt(schedule.warmup / update))
