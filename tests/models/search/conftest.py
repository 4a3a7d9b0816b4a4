"""A decoder without a network: the next token's scores depend on the sentence and on all tokens so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from models.data.batches import Batch, Memory, make_batch
from models.kernels.choices import Choice, Chosen, Stretch

V = 60
PHASES = 7


@dataclass
class HistoryState:
    """The table of each sentence, and for each hypothesis a number that depends on every token in its history."""

    tables: Tensor
    phases: Tensor
    read: Tensor | None = None
    """That number after each of several tokens, if they were read at once."""

    def reorder(self, rows: Tensor) -> None:
        """Rearrange the hypotheses."""
        self.phases = self.phases[rows]

    def keep(self, sentences: Tensor) -> None:
        """Keep some sentences."""
        self.tables = self.tables[sentences]

    def cut(self, words: Tensor) -> None:
        """Cut each hypothesis back to so many words."""
        assert self.read is not None
        self.phases = self.read[torch.arange(len(words)), words - 1]

    def join(self, others: "HistoryState", rows: int, joining: int) -> None:
        """Add other sentences."""
        assert (len(self.phases), len(others.phases)) == (rows, joining)
        self.tables = torch.cat([self.tables, others.tables])
        self.phases = torch.cat([self.phases, others.phases])


@dataclass
class HistoryDecoder:
    """Looks up the scores of the next token in a table, by the number of the history."""

    tables: Tensor
    """(kinds of sentence, PHASES, V): the first source token decides the kind."""
    rows: list[int] = field(default_factory=list)
    """The number of hypotheses in each step so far."""
    passes: list[tuple[int, ...]] = field(default_factory=list)
    """The numbers of hypotheses and tokens each time that several tokens were read at once."""
    joins: bool = True
    stride: int = 1
    stretches: bool = False

    def start(self, batch: Batch) -> HistoryState:
        """Take the tables of the batch."""
        kinds = batch.source[:, 0]
        return HistoryState(self.tables[kinds], torch.zeros_like(kinds))

    def step(self, tokens: Tensor, state: HistoryState) -> Tensor:
        """Return the scores after the last tokens."""
        self.rows.append(len(tokens))
        state.phases = (state.phases * 3 + tokens) % PHASES
        hypotheses = len(tokens) // len(state.tables)
        return state.tables.repeat_interleave(hypotheses, 0)[torch.arange(len(tokens)), state.phases].clone()

    def choose(self, tokens: Tensor, totals: Tensor | None, state: HistoryState, choice: Choice) -> None:
        """Do nothing; not used here."""

    def stretch(self, tokens: Tensor, totals: Tensor | None, state: HistoryState, limits: Stretch) -> Chosen:
        """Be called never."""
        raise NotImplementedError

    def read(self, tokens: Tensor, state: HistoryState) -> Tensor:
        """Return the scores after each of these tokens."""
        self.passes.append(tuple(tokens.shape))
        phases = []
        for last in tokens.T:
            state.phases = (state.phases * 3 + last) % PHASES
            phases.append(state.phases)
        state.read = torch.stack(phases, dim=1)
        return state.tables[torch.arange(len(tokens))[:, None], state.read]

    def scores(self, read: Tensor) -> Tensor:
        """Return what was read, as it already is scores."""
        return read.clone()

    def leave(self, rows: Sequence[int], state: HistoryState) -> list[Memory]:
        """Leave the number of the history."""
        return [{"phase": state.phases[row]} for row in rows]


@pytest.fixture
def make_decoder() -> Callable[..., HistoryDecoder]:
    """Make a decoder with random tables; `scores` sets the scores of single tokens in all of them."""

    def make(kinds: int = 20, seed: int = 1, scores: dict[int, float] | None = None) -> HistoryDecoder:
        generator = torch.Generator().manual_seed(seed)
        tables = 2 * torch.randn(kinds, PHASES, V, generator=generator)
        for token, score in (scores or {}).items():
            tables[:, :, token] = score
        return HistoryDecoder(tables)

    return make


@pytest.fixture
def make_sources() -> Callable[[int], Batch]:
    """Make a batch with one sentence of each of so many kinds."""
    return lambda kinds: make_batch([[kind] for kind in range(kinds)], None, {})
