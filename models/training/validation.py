"""Dev-set figures as training goes."""

import torch

from models.data.batches import TokenizedCorpus, plan
from models.data.tokenizer import PAD
from models.network.model import TranslationModel
from models.training.objective import target_of, token_losses

BUDGET = 4096
"""Padded tokens of a validation batch."""


@torch.inference_mode()
def dev_loss(model: TranslationModel, corpus: TokenizedCorpus, device: torch.device) -> float:
    """Cross-entropy a target token, in nats and without label smoothing, with the real context."""
    total, tokens = 0.0, 0
    for indices in plan(corpus.lengths, corpus.usable, BUDGET, seed=0, epoch=0):
        batch = corpus.batch(indices, model.architecture).to(device)
        total += token_losses(model, batch).sum().item()
        tokens += int(target_of(batch)[:, 1:].ne(PAD).sum())
    return total / tokens
