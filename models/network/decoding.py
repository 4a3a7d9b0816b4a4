"""Adapter that presents a translation model to search as a `Decoder`."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.kernels.choices import Choice, Chosen, Stretch
from models.network.context import Context
from models.network.model import TranslationModel
from models.network.state import State

STRIDE = 8
"""Steps between checks, where Python runs ahead of a GPU, or a CPU takes several steps in one call.

On a GPU, a finished sentence wastes half of them on average.
"""
ROWS = 256
"""Rows of several steps in one call, added up: with the shipped models ten milliseconds, for which all else waits."""


class ModelDecoder:
    """Decodes with a key/value cache; satisfies `models.search.decoder.Decoder`."""

    def __init__(self, model: TranslationModel) -> None:
        """Decode with `model`, which must be in evaluation mode."""
        self.model = model

    @property
    def joins(self) -> bool:
        """Whether sentences that started at different times can be decoded together."""
        return not self.model.architecture.recurrent

    @property
    def stride(self) -> int:
        """Steps between checks of what was found."""
        if self.model.device.type == "cpu":
            return STRIDE if self.stretches else 1
        return 1 if self.model.architecture.recurrent else STRIDE

    @property
    def stretches(self) -> bool:
        """Whether steps can be taken in one call: in int8 on a CPU, where no hook changes a layer."""
        return self.model.step is not None and self.model.step.stretches

    def start(self, batch: Batch) -> State:
        """Encode a batch with its context and prepare decoding."""
        return self.begin(batch, self.model.architecture.encode(batch, self.model.backbone))

    def begin(self, batch: Batch, context: Context) -> State:
        """Prepare decoding as `start` does, with a context that has already been encoded."""
        memory = self.model.architecture.encode_source(batch, self.model.backbone, context)
        return self.model.begin(batch, context, memory, cached=True).settle(self.model.backbone.positions.dtype)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Return scores of the next token, (R, V), after the last ones (R,)."""
        if self.model.step is not None:
            return self.model.step(tokens, state)
        return self.scores(self.read(tokens[:, None], state)[:, 0])

    def choose(self, tokens: Tensor, totals: Tensor | None, state: State, choice: Choice) -> Chosen | None:
        """Take one step and choose the next tokens in a single operation; not supported here, so None."""
        return None

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: State, limits: Stretch) -> Chosen:
        """Take several steps in one call, fewer with many rows."""
        assert self.model.step is not None
        most = max(1, min(limits.most, ROWS // len(tokens)))
        return self.model.step.stretch(tokens, totals, state, replace(limits, most=most))

    def read(self, tokens: Tensor, state: State) -> Tensor:
        """Return hidden states (R, T, D) of the first tokens (R, T), computed in one call."""
        return self.model.decode(tokens, state)

    def scores(self, read: Tensor) -> Tensor:
        """Return scores of the next token, (X, V), from hidden states (X, D); float32 on a CPU, as its kernels need."""
        logits = self.model.logits(read)
        return logits if logits.is_cuda else logits.float()

    def free(self) -> None:
        """Release memory kept for later batches; there is none."""

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """Return what these hypotheses leave to the next sentences; empty if the architecture is not recurrent."""
        if not self.model.architecture.recurrent:
            return [{}] * len(rows)
        device = next(iter(state.past.values())).device
        left = self.model.architecture.finish(state, torch.tensor(rows, device=device))
        padding = left["real"].size(1) - left["real"].sum(1)
        return [{name: tensor[i, first:] for name, tensor in left.items()} for i, first in enumerate(padding.tolist())]
