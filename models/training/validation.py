"""Dev-set figures as training goes."""

import torch

from models.config import RunConfig, data_folder
from models.data.batches import TokenizedCorpus, plan
from models.data.documents import read_documents
from models.data.tokenizer import PAD, Tokenizer
from models.network.model import TranslationModel
from models.training.objective import target_of, token_losses

BUDGET = 4096
"""Padded tokens of a validation batch."""


@torch.inference_mode()
def mean_loss(model: TranslationModel, corpus: TokenizedCorpus) -> float:
    """Cross-entropy a target token, in nats and without label smoothing, with the real context."""
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    for indices in plan(corpus.lengths, corpus.usable, BUDGET, seed=0, epoch=0):
        batch = corpus.batch(indices, model.architecture).to(device)
        total += token_losses(model, batch).sum().item()
        tokens += int(target_of(batch)[:, 1:].ne(PAD).sum())
    return total / tokens


class Validation:
    """Gives the dev-set figures of a model in training: loss, BLEU, contrastive accuracy."""

    def __init__(self, config: RunConfig, tokenizer: Tokenizer) -> None:
        """Read the dev sets that the config names; without them a run has no figures.

        Raises:
            DataError: one cannot be read.
        """
        self.corpus: TokenizedCorpus | None = None
        if config.data.dev is not None:
            folder = data_folder()
            documents = read_documents(folder / config.data.dev.source, folder / config.data.dev.target)
            self.corpus = TokenizedCorpus(documents, tokenizer, config.backbone.max_length)

    def __call__(self, model: TranslationModel) -> dict[str, float]:
        """The figures by name."""
        if self.corpus is None:
            return {}
        return {"loss": mean_loss(model, self.corpus)}
