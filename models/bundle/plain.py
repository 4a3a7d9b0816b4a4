"""The plain way to decode, as the papers' releases do: at each step the decoder reads the whole prefix anew.

It is here to be measured against. What it does not pay for, unlike most releases: keys and values of source and context
are computed once, hypotheses of a sentence share them, and finished sentences leave the batch.
"""

from collections.abc import Sequence

from torch import Tensor

from models.data.batches import Batch, Memory
from models.network.decoding import ModelDecoder
from models.network.state import State

_WORDS = "words"


class PlainDecoder(ModelDecoder):
    """Decodes without a cache: of the words so far nothing is kept but what they are."""

    @property
    def joins(self) -> bool:
        """A batch ends before the next one begins."""
        return False

    def start(self, batch: Batch) -> State:
        """Encode a batch with its context."""
        return State(self.model.start(batch, cached=False).fixed, cached=True)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Scores of the next token, (R, V) in float32, after the last ones (R,) and all before them."""
        prefixes = state.extend(_WORDS, tokens[:, None, None])[:, :, 0]  # (R, T)
        hidden = self.model.decode(prefixes, State(state.fixed))
        state.advance(1)
        return self.scores(hidden[:, -1])

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:  # noqa: ARG002
        """Nothing: the next sentence reads this one again."""
        return [{}] * len(rows)
