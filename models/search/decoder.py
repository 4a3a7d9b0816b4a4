"""What search sees of a model: a decoder that advances by one token, and a state that can be rearranged."""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from torch import Tensor

from models.data.batches import Batch, Memory
from models.kernels.choices import Choice, Chosen, Stretch


class DecodingState(Protocol):
    """What decoding carries from step to step: B sentences with N hypotheses each, the rows R = B x N."""

    def reorder(self, rows: Tensor) -> None:
        """Let hypothesis i continue from the former row `rows[i]`; `rows` (R',) may widen or narrow the beam."""

    def keep(self, sentences: Tensor) -> None:
        """Keep only what belongs to these sentences (B',), in this order; hypotheses are reordered separately."""

    def cut(self, words: Tensor) -> None:
        """Cut each hypothesis back to its first `words[i]` words, (R,); each must have read at least as many."""

    def join(self, others: Self, rows: int, joining: int) -> None:
        """Add other sentences, which have `joining` rows, to the R = `rows` rows here."""


State = TypeVar("State", bound=DecodingState)


class Decoder(Protocol[State]):
    """A model that is ready to translate."""

    @property
    def joins(self) -> bool:
        """Whether sentences that were not started together can be decoded together."""

    @property
    def stride(self) -> int:
        """How many steps to take before looking at their results; more than 1 if looking takes long.

        Hypotheses then continue for some steps after their end, which are ignored and must have no lasting effect.
        """

    @property
    def stretches(self) -> bool:
        """Whether it can take several steps in one piece."""

    def start(self, batch: Batch) -> State:
        """Read a batch of B sentences with their context; return a state with one hypothesis per sentence."""

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Advance by one token.

        Args:
            tokens: (R,) the last token of each hypothesis; the beginning of sentence in the first step.
            state: advanced by one position.

        Returns:
            Unnormalised scores of the next token, (R, V); in float32 on a CPU. The caller may overwrite them.
        """

    def choose(self, tokens: Tensor, totals: Tensor | None, state: State, choice: Choice) -> Chosen | None:
        """Advance by one token and choose what comes next in one piece, if this decoder can.

        Args:
            tokens: as for `step`.
            totals: (B, N) log-probabilities of the hypotheses so far, float32, if the choice depends on them.
            state: advanced by one position, but not rearranged.
            choice: how to choose.

        Returns:
            What was chosen; the tensors from which it continues are overwritten by the next step of this state. None,
            with the state unchanged, if the decoder cannot do this.
        """

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: State, limits: Stretch) -> Chosen:
        """Take several steps and choose what comes next in each in one piece; only if it `stretches`.

        Args:
            tokens: as for `step`.
            totals: (B, N), float32: log-probabilities of a beam's hypotheses so far; None for greedy search.
            state: advanced by as many positions as there were steps, and rearranged, but not for the last choice.
            limits: when to stop.

        Returns:
            What the last step chose, with `found` of T steps: (T, 3, B, 2N) as in `Candidates.chosen`, or the tokens
            and their log-probabilities, (T, R) each.

        Raises:
            UnsupportedOptionError: the vocabulary is too small for the beam.
        """

    def read(self, tokens: Tensor, state: State) -> Tensor:
        """Read the first tokens of each hypothesis, all at once.

        Args:
            tokens: (R, T), padded, with the beginning of sentence first.
            state: a state before its first step; advanced by T positions.

        Returns:
            The input of `scores` after each token, (R, T, X).
        """

    def scores(self, read: Tensor) -> Tensor:
        """Return unnormalised scores of the next token, (Y, V), for some rows (Y, X) of what `read` returned."""

    def free(self) -> None:
        """Free the memory that is kept for later batches, because the device has none left."""

    def leave(self, rows: Sequence[int], state: State) -> Sequence[Memory]:
        """Return what hypotheses that end here leave to the next sentences of their documents."""
