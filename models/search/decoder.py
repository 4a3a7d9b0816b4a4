"""What search sees of a model: a decoder that goes on by one token, and a state that can be rearranged."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from torch import Tensor

from models.data.batches import Batch, Memory


class DecodingState(Protocol):
    """What decoding carries from step to step: B sentences with N hypotheses each, the rows R = B x N."""

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i continue from what row `rows[i]` was; `rows` (R',) may widen or narrow the beam."""

    def keep(self, sentences: Tensor) -> None:
        """Keep what belongs to these sentences (B',) only, in this order; their hypotheses are reordered apart."""


State = TypeVar("State", bound=DecodingState)


class Decoder(Protocol[State]):
    """A model ready to translate."""

    def start(self, batch: Batch) -> State:
        """Read a batch of B sentences with their context; the state has one hypothesis a sentence."""

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Go on by one token.

        Args:
            tokens: (R,) last token of each hypothesis, beginning of sentence first.
            state: advanced by one position.

        Returns:
            Unnormalised scores of the next token, (R, V), float32; the caller may overwrite them.
        """

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """What these hypotheses, which end after the tokens so far, leave to the next sentences of their documents."""
