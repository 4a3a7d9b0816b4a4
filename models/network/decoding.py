"""A translation model as search sees it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.network.context import State
from models.network.model import TranslationModel


class ModelDecoder:
    """Decodes with a key/value cache; satisfies `models.search.decoder.Decoder`."""

    def __init__(self, model: TranslationModel) -> None:
        """Decode with `model`, which must be in evaluation mode."""
        self.model = model

    def start(self, batch: Batch) -> State:
        """Encode a batch with its context."""
        return self.model.start(batch, cached=True)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Scores of the next token, (R, V) in float32, after the last ones (R,)."""
        hidden = self.model.decode(tokens[:, None], state)
        return self.model.logits(hidden[:, 0]).float()

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """What these hypotheses leave to the next sentences; nothing, if the architecture reads nothing."""
        if not self.model.architecture.recurrent:
            return [{}] * len(rows)
        device = next(iter(state.moving.values())).device
        left = self.model.architecture.finish(state, torch.tensor(rows, device=device))
        return [{name: tensor[i] for name, tensor in left.items()} for i in range(len(rows))]
