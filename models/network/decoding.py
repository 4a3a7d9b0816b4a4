"""A translation model as search sees it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.kernels.choices import Choice, Chosen
from models.network.context import Context
from models.network.model import TranslationModel
from models.network.state import State

STRIDE = 8
"""A GPU computes while Python is some steps ahead of it; a sentence that has ended costs half of these on average."""


class ModelDecoder:
    """Decodes with a key/value cache; satisfies `models.search.decoder.Decoder`."""

    def __init__(self, model: TranslationModel) -> None:
        """Decode with `model`, which must be in evaluation mode."""
        self.model = model

    @property
    def joins(self) -> bool:
        """Whether sentences can be decoded together that have not started together."""
        return not self.model.architecture.recurrent

    @property
    def stride(self) -> int:
        """Steps from one look at what was found to the next."""
        on_cpu = self.model.backbone.positions.device.type == "cpu"
        return 1 if on_cpu or self.model.architecture.recurrent else STRIDE

    def start(self, batch: Batch) -> State:
        """Encode a batch with its context."""
        return self.begin(batch, self.model.architecture.encode(batch, self.model.backbone))

    def begin(self, batch: Batch, context: Context) -> State:
        """The same where the context has been encoded."""
        memory = self.model.architecture.encode_source(batch, self.model.backbone, context)
        return self.model.begin(batch, context, memory, cached=True).settle(self.model.backbone.positions.dtype)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Scores of the next token, (R, V), after the last ones (R,)."""
        if self.model.step is not None:
            return self.model.step(tokens, state)
        return self.scores(self.read(tokens[:, None], state)[:, 0])

    def choose(self, tokens: Tensor, totals: Tensor | None, state: State, choice: Choice) -> Chosen | None:
        """Go on by one token and choose what comes next, both in one piece: not here."""
        return None

    def read(self, tokens: Tensor, state: State) -> Tensor:
        """Hidden states (R, T, D) of the first tokens (R, T), all at once."""
        return self.model.decode(tokens, state)

    def scores(self, read: Tensor) -> Tensor:
        """Scores of the next token, (X, V), of hidden states (X, D); in float32 on a CPU, whose kernels want that."""
        logits = self.model.logits(read)
        return logits if logits.is_cuda else logits.float()

    def free(self) -> None:
        """Give back the memory that is kept for later batches: none."""

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """What these hypotheses leave to the next sentences; nothing, if the architecture reads nothing."""
        if not self.model.architecture.recurrent:
            return [{}] * len(rows)
        device = next(iter(state.past.values())).device
        left = self.model.architecture.finish(state, torch.tensor(rows, device=device))
        padding = left["real"].size(1) - left["real"].sum(1)
        return [{name: tensor[i, first:] for name, tensor in left.items()} for i, first in enumerate(padding.tolist())]
