"""The interface of a search that runs step by step, and when rows of finished sentences leave its batch."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from models.data.batches import Batch, Tokens
from models.search.hypotheses import Hypothesis

IDLE: Final = 8
"""A batch shrinks once one in this many of its sentences is done: moving the others costs as much as a step."""

Unwanted = Callable[[Sequence[int]], bool]
"""Tells by its tokens so far, without control tokens, whether a hypothesis should not be continued."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A sentence to translate; `key` is the caller's number for it."""

    key: int
    max_length: int
    """The most tokens to generate, end of sentence included; 1 or more."""
    draft: Tokens = ()
    """A draft, whose tokens are kept as far as greedy search would give the same; beam search ignores it."""
    unwanted: Unwanted | None = None
    """Which hypotheses beam search drops as long as it has others; greedy search, which has only one, ignores it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence that is done, with its `n_best` hypotheses, best first.

    A sentence that did not end within its maximum length is returned as it is: none is dropped.
    """

    key: int
    hypotheses: list[Hypothesis]


class Search(Protocol):
    """Translates sentences together, one token each in every step; sentences may come and go between steps."""

    @property
    def running(self) -> int:
        """How many sentences are not done."""

    @property
    def taken(self) -> int:
        """How many tokens the last step has added; 1 before the first one."""

    def add(self, batch: Batch, wanted: Sequence[Wanted]) -> None:
        """Start the sentences of a batch on the decoder's device; if others are running, the decoder must join them."""

    def step(self) -> list[Found]:
        """Advance by one token, or by up to the decoder's stride; return what is done. Something must be running."""

    def drop(self, keys: Collection[int]) -> None:
        """Continue without these sentences; unknown keys are ignored."""


def staying(done: Sequence[bool]) -> list[int]:
    """Return the rows that are not done, in the order that moves the fewest: the last fill the places of the done."""
    count = len(done) - sum(done)
    last = [row for row in range(count, len(done)) if not done[row]]
    return [last.pop() if done[row] else row for row in range(count)]


def worth_moving(done: int, all_of_them: int) -> bool:
    """Return whether enough sentences are done for them to leave the batch."""
    return done >= enough_to_move(all_of_them)


def enough_to_move(all_of_them: int) -> int:
    """Return how many sentences have to be done for them to leave the batch."""
    return -(-all_of_them // IDLE)
