"""Minimum risk training: what a model would choose among translations, and how far that is from the best.

Shen et al. 2016, "Minimum risk training for neural machine translation", eq. 6 and 7; Edunov et al. 2018, "Classical
structured prediction losses for sequence to sequence learning", sections 3.3 and 3.4. Candidates are those of a search
that was done once, before training, rather than of the model as it is at each update.
"""

import torch
from torch import Tensor

from models.config import RiskConfig
from models.data.batches import Batch, Rivals
from models.data.tokenizer import PAD
from models.errors import DataError
from models.network.model import TranslationModel
from models.training.objective import losses_of


def risk_losses(model: TranslationModel, batch: Batch, config: RiskConfig, label_smoothing: float = 0.0) -> Tensor:
    """The loss of each sentence: its risk, and the cross-entropy of its reference as far as `config` says.

    Both are sums over the reference's tokens, as which the risk counts alike: a long sentence weighs more.

    Args:
        model: in training or evaluation mode.
        batch: with rivals; of an architecture that does not go on from one sentence to the next.
        config: how much of each there is.
        label_smoothing: of the reference's cross-entropy.

    Returns:
        (B,).
    """
    if (rivals := batch.rivals) is None:
        raise DataError("a batch without candidates has no risk")
    state = model.start(batch, cached=False)
    rows = rivals.target.unflatten(0, (len(rivals.gains), -1))  # (B, 1 + K, T + 1)
    hidden = model.decode(rivals.target[:, :-1], state).unflatten(0, rows.shape[:2])
    expected = rows[..., 1:]
    reference = losses_of(model, hidden[:, 0], expected[:, 0], label_smoothing).sum(1)
    candidates = losses_of(model, hidden[:, 1:].flatten(0, 1), expected[:, 1:].flatten(0, 1)).sum(1)
    lengths = expected.ne(PAD).sum(-1)  # (B, 1 + K)
    risks = risk(-candidates.view_as(rivals.gains), lengths[:, 1:], lengths[:, :1], rivals, config)
    losses: Tensor = config.cross_entropy * reference + (1 - config.cross_entropy) * lengths[:, 0] * risks
    return losses


def risk(log_probabilities: Tensor, lengths: Tensor, expected: Tensor, rivals: Rivals, config: RiskConfig) -> Tensor:
    """1 less the expected gain over the candidates, by scores s = sharpness (log p / n) (m / n)^(alpha - 1).

    So they are in the order in which search has log p / n^alpha, and as far apart as mean log-probabilities are.

    Args:
        log_probabilities: (B, K) of whole candidates.
        lengths: (B, K), n: their tokens, end of sentence included.
        expected: (B, 1), m: those of the references.
        rivals: gains of the candidates.
        config: of the scores.

    Returns:
        (B,).
    """
    scores = config.sharpness * log_probabilities / lengths * (expected / lengths) ** (config.alpha - 1)
    chosen = scores.masked_fill(~rivals.real, -torch.inf).softmax(1)
    expectation: Tensor = (chosen * rivals.gains).sum(1)
    return 1 - expectation
