"""What search sees of a model: a decoder that goes on by one token, and a state that can be rearranged."""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from torch import Tensor

from models.data.batches import Batch, Memory
from models.kernels.choices import Choice, Chosen


class DecodingState(Protocol):
    """What decoding carries from step to step: B sentences with N hypotheses each, the rows R = B x N."""

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i continue from what row `rows[i]` was; `rows` (R',) may widen or narrow the beam."""

    def keep(self, sentences: Tensor) -> None:
        """Keep what belongs to these sentences (B',) only, in this order; their hypotheses are reordered apart."""

    def cut(self, words: Tensor) -> None:
        """Let each hypothesis go on from its first words, so many, (R,), when all have read as many, or more."""

    def join(self, others: Self, rows: int, joining: int) -> None:
        """Let other sentences, with so many rows, be decoded with those of the R = `rows` here."""


State = TypeVar("State", bound=DecodingState)


class Decoder(Protocol[State]):
    """A model ready to translate."""

    @property
    def joins(self) -> bool:
        """Whether sentences can be decoded together that have not started together."""

    @property
    def stride(self) -> int:
        """Steps from one look at what was found to the next; more than 1 where to look is to wait for a device.

        Hypotheses then go on for some steps after their end. Nobody reads that; they must leave nothing behind.
        """

    def start(self, batch: Batch) -> State:
        """Read a batch of B sentences with their context; the state has one hypothesis a sentence."""

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Go on by one token.

        Args:
            tokens: (R,) last token of each hypothesis, beginning of sentence first.
            state: advanced by one position.

        Returns:
            Unnormalised scores of the next token, (R, V), in float32 on a CPU; the caller may overwrite them.
        """

    def choose(self, tokens: Tensor, totals: Tensor | None, state: State, choice: Choice) -> Chosen | None:
        """Go on by one token and choose what comes next, both in one piece, if this decoder can.

        Args:
            tokens: as of `step`.
            totals: (B, N) log-probabilities of the hypotheses so far, float32, if the choice depends on them.
            state: advanced by one position, and not rearranged.
            choice: what to choose.

        Returns:
            What was chosen: what it goes on with is overwritten by the next step of this state. Nothing, and the state
            as it was, if it cannot be done so.
        """

    def read(self, tokens: Tensor, state: State) -> Tensor:
        """Read the first tokens of each hypothesis, all at once.

        Args:
            tokens: (R, T), beginning of sentence first, padded.
            state: before its first step; advanced by T positions.

        Returns:
            What `scores` takes, after each token, (R, T, X).
        """

    def scores(self, read: Tensor) -> Tensor:
        """Unnormalised scores of the next token, (Y, V), of some of what `read` has given, (Y, X); as of `step`."""

    def free(self) -> None:
        """Give back the memory that is kept for later batches; the device has none left."""

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """What these hypotheses, which end after the tokens so far, leave to the next sentences of their documents."""
