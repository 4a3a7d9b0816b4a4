"""Scores several translations of each sentence, which is read only once, with its context."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from models.data.batches import Batch, Tokens, pad
from models.data.tokenizer import BOS, EOS
from models.network.model import TranslationModel
from models.network.state import State


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence that a model has read with its context, to score translations of it any number of times."""

    model: TranslationModel
    """In evaluation mode."""
    state: State
    """The state for a batch of one, before the first target token; it is never changed."""

    @classmethod
    @torch.inference_mode()
    def of(cls, model: TranslationModel, batch: Batch) -> "Reading":
        """Read a batch of one sentence, which is on the model's device."""
        return cls(model, model.start(batch, cached=False))

    def score(self, candidates: Sequence[Tokens]) -> list[list[float]]:
        """Return, per candidate, the log-probability of every token, and of the end of sentence if there is a place."""
        return [own for own, _ in self.score_beside(candidates, EOS)]  # any token would do: its scores are not used

    @torch.inference_mode()
    def score_beside(self, candidates: Sequence[Tokens], token: int) -> list[tuple[list[float], list[float]]]:
        """Return, per candidate, what `score` gives, and the log-probability of `token` in place of each of these."""
        return _score_beside(self.model, self.state, [candidates], token)[0]


@torch.inference_mode()
def score(model: TranslationModel, batch: Batch, candidates: Sequence[Sequence[Tokens]]) -> list[list[list[float]]]:
    """Score the candidates of each sentence of a batch.

    Args:
        model: the model, in evaluation mode.
        batch: the sentences, on the model's device.
        candidates: one or more for each sentence.

    Returns:
        For each candidate the log-probability of every token, and of the end of sentence if there is a place for it.
    """
    scored = _score_beside(model, model.start(batch, cached=False), candidates, EOS)
    return [[own for own, _ in each] for each in scored]


def _score_beside(
    model: TranslationModel, state: State, candidates: Sequence[Sequence[Tokens]], token: int
) -> list[list[tuple[list[float], list[float]]]]:
    most = max(map(len, candidates))
    rows = [tokens for each in candidates for tokens in (*each, *[()] * (most - len(each)))]
    places = len(model.backbone.positions)
    target = pad([[BOS, *tokens, EOS][: places + 1] for tokens in rows]).to(model.device)  # (R, T + 1)
    hidden = model.decode(target[:, :-1], state)
    expected = target[:, 1:]
    lengths = [min(len(tokens) + 1, places) for tokens in rows]
    # By length, not by comparing with the padding id: CTranslate2 may propose padding as a word.
    real = torch.arange(expected.size(1)).lt(torch.tensor(lengths)[:, None]).to(expected.device)
    # The projection is the widest product of all, so padding is left out of it.
    logits, wanted = model.logits(hidden[real]).float(), expected[real]
    own = -F.cross_entropy(logits, wanted, reduction="none")
    beside = own + logits[:, token] - logits.gather(1, wanted[:, None])[:, 0]
    values = [tuple(part.tolist()) for part in torch.stack((own, beside)).cpu().split(lengths, dim=1)]
    return [values[row * most : row * most + len(each)] for row, each in enumerate(candidates)]
