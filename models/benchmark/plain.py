"""The plain way to decode, as in the papers' releases: each step calls the decoder anew with the whole prefix.

It serves as a baseline for measurements. In every step, the keys and values of source and context are computed from the
encoders' states, for all sentences of the batch. It is cheaper than most releases in two ways: hypotheses of a sentence
share these keys and values, and the prefixes of finished sentences are not read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.network.decoding import ModelDecoder
from models.network.state import State

_WORDS = "words"
_SENTENCES = "sentences"


@dataclass
class PlainState(State):
    """The words so far, and which sentences of the batch are left, (B',)."""

    size: int = field(kw_only=True)
    """B, the number of sentences in the whole batch."""
    begin: Callable[[], State] = field(kw_only=True)
    """Prepares to decode all sentences of the batch from their first words."""


class PlainDecoder(ModelDecoder):
    """Decodes without a cache: only the words so far are kept."""

    @property
    def joins(self) -> bool:
        """Return False: a batch ends before the next one begins."""
        return False

    @property
    def stretches(self) -> bool:
        """Return False: steps are taken one by one."""
        return False

    def start(self, batch: Batch) -> PlainState:
        """Encode a batch with its context."""
        context, memory = self.model.encode(batch)
        numbers = torch.arange(len(batch.source), device=batch.source.device)
        return PlainState(
            {_SENTENCES: numbers},
            cached=True,
            size=len(numbers),
            begin=lambda: self.model.begin(batch, context, memory, cached=False),
        )

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Return scores of the next token, (R, V) in float32, after the last tokens (R,) and all before them."""
        assert isinstance(state, PlainState)
        prefixes = state.extend(_WORDS, tokens[:, None, None])[:, :, 0]  # (R, T)
        whole, left = state.begin(), state.fixed[_SENTENCES]
        hidden = self.model.decode(prefixes, whole if len(left) == state.size else whole.select(left))
        state.advance(1)
        return self.scores(hidden[:, -1])

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:  # noqa: ARG002
        """Leave nothing: the next sentence reads this one again."""
        return [{}] * len(rows)
