"""What a search that runs step by step is asked for and what it gives; which of its rows are worth keeping."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from models.data.batches import Batch, Tokens
from models.search.hypotheses import Hypothesis

IDLE: Final = 8
"""A batch is made smaller when one of this many sentences in it is done: moving the others costs as much as a step."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A sentence to translate, by a number that its caller knows it by."""

    key: int
    max_length: int
    """The most tokens to generate, end of sentence included; 1 or more."""
    draft: Tokens = ()
    """A translation of which as much is kept as greedy search would give; no other search reads it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that is done, with its `n_best` hypotheses, best first.

    One that did not end before its maximum length is there as it is: no sentence is dropped.
    """

    key: int
    hypotheses: list[Hypothesis]


class Search(Protocol):
    """Sentences that are translated together, a token each in every step; they may come and go in between."""

    @property
    def running(self) -> int:
        """Sentences that are not done."""

    def add(self, batch: Batch, wanted: Sequence[Wanted]) -> None:
        """Begin with the sentences of a batch, on the decoder's device; where others run, the decoder must join."""

    def step(self) -> list[Found]:
        """Go on by a token, or as many as the decoder's stride; gives what is done. There must be something running."""

    def drop(self, keys: Collection[int]) -> None:
        """Go on without these sentences; unknown ones are none."""


def staying(done: Sequence[bool]) -> list[int]:
    """The rows that are not done, in an order in which the fewest move: the last ones into the places of the done."""
    count = len(done) - sum(done)
    last = [row for row in range(count, len(done)) if not done[row]]
    return [last.pop() if done[row] else row for row in range(count)]


def worth_moving(done: int, all_of_them: int) -> bool:
    """Whether so many done sentences should leave a batch."""
    return done * IDLE >= all_of_them
