"""Continuous batching: sentences that are finished make room in the batch for those that wait."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeVar

import torch

from models.data.batches import Batch, Tokens
from models.engine.batching import want_of_memory
from models.engine.token_budget import TokenBudget
from models.search.decoder import Decoder
from models.search.hypotheses import Hypothesis
from models.search.running import Found, Search, Unwanted, Wanted

JOINING: Final = 1.0
"""Roughly how many decoding steps a joining group of sentences costs each sentence that is running."""


class Sized(Protocol):
    """A sentence that waits to be decoded."""

    @property
    def size(self) -> int:
        """Number of tokens that it is padded to on its own."""

    @property
    def max_length(self) -> int:
        """The most tokens to generate."""

    @property
    def draft(self) -> Tokens:
        """A guess at the translation; empty if there is none."""

    @property
    def unwanted(self) -> Unwanted | None:
        """Which hypotheses are dropped in favour of others; None if any is welcome."""


Sentence = TypeVar("Sentence", bound=Sized)


class Continuous(Generic[Sentence]):
    """Feeds a search with waiting sentences, within a budget of tokens and in the order of arrival.

    Sentences that arrive together begin with the longest: so those of similar size are together, and no long ones are
    left over for the end. Satisfies `models.engine.flow.Flow`.
    """

    def __init__(
        self,
        begin: Callable[[], Search],
        decoder: Decoder[Any],
        batch_of: Callable[[Sequence[Sentence]], Batch],
        budget: TokenBudget,
    ) -> None:
        """Feed a search with batches.

        Args:
            begin: makes a search that has nothing to do yet.
            decoder: the decoder of the search; if sentences cannot join there, one batch ends before the next begins.
            batch_of: makes a batch of sentences.
            budget: limit on the tokens of sentences that are running.
        """
        self._new_search = begin
        self._search = begin()
        self._decoder = decoder
        self._batch_of = batch_of
        self._budget = budget
        self._alone = False
        """Whether the device had no memory for a single sentence, which has not made progress since."""
        self._waiting: dict[int, Sentence] = {}
        self._begun: dict[int, Sentence] = {}
        self._waited = 0
        """Steps that sentences have waited although there was room for them, summed over the sentences."""

    @property
    def running(self) -> int:
        """Number of sentences that have no result yet."""
        return len(self._waiting) + len(self._begun)

    def add(self, requests: Mapping[int, Sentence]) -> None:
        """Queue sentences."""
        self._waiting |= dict(sorted(requests.items(), key=lambda item: -item[1].size))

    def step(self) -> list[tuple[int, list[Hypothesis]]]:
        """Begin the sentences that there is room for, and decode one token; return the results that are then done."""
        try:
            with want_of_memory():
                found = self._go_on()
        except torch.OutOfMemoryError:
            if self._alone:
                raise
            found = None
        if found is None:  # out of memory; here nothing holds the failed step's tensors any more
            self._alone = len(self._begun) == 1
            self._begin_again()
            return []
        self._alone = False
        self._budget.succeed()
        for one in found:
            del self._begun[one.key]
        return [(one.key, one.hypotheses) for one in found]

    def drop(self, keys: Collection[int]) -> None:
        """Drop these sentences."""
        begun = [key for key in keys if self._begun.pop(key, None) is not None]
        if begun:
            self._leave(begun)
        for key in keys:
            self._waiting.pop(key, None)

    def _leave(self, begun: Sequence[int]) -> None:
        """Drop sentences that have begun; on a GPU the rest is copied, for which memory may be lacking."""
        with suppress(torch.OutOfMemoryError), want_of_memory():
            self._search.drop(begun)
            return
        self._begin_again()  # out here, nothing holds the tensors of what has failed

    def _go_on(self) -> list[Found]:
        if self._waiting:
            self._waited += min(len(self._waiting), self._room()) * self._steps()
            if self._makes_sense():
                self._begin()
        return self._search.step()

    def _steps(self) -> int:
        """Return how many steps those that wait miss in one of search; on a GPU, where joining costs more, only one."""
        return self._search.taken if self._decoder.stretches else 1

    def _begin_again(self) -> None:
        """Put all running sentences back into the queue, to be done in batches of at most half the size."""
        self._budget.fail(len(self._begun) * self._width())
        self._waiting = self._begun | self._waiting
        self._begun, self._search = {}, self._new_search()
        self._decoder.free()

    def _makes_sense(self) -> bool:
        """Return whether the next sentences should begin: once they have waited as long as they would hold up others.

        This minimises the sum of both delays (as in the economic order quantity, Harris 1913): a small batch is joined
        at once, a large one by several sentences together.
        """
        if not (self._begun and self._decoder.joins):
            return not self._begun
        return self._room() > 0 and self._waited >= JOINING * len(self._begun)

    def _room(self) -> int:
        """Return how many sentences of the next one's size could begin now."""
        following = next(iter(self._waiting.values()))
        return max(0, self._budget.tokens // max(self._width(), following.size) - len(self._begun))

    def _begin(self) -> None:
        chosen: dict[int, Sentence] = {}
        width = self._width()
        for key, sentence in self._waiting.items():
            if not self._fits(sentence, len(self._begun) + len(chosen), width):
                break
            width = max(width, sentence.size)
            chosen[key] = sentence
        for key in chosen:
            del self._waiting[key]
        self._begun |= chosen
        self._waited = 0
        wanted = [Wanted(key, each.max_length, each.draft, each.unwanted) for key, each in chosen.items()]
        self._search.add(self._batch_of(list(chosen.values())), wanted)

    def _width(self) -> int:
        return max((sentence.size for sentence in self._begun.values()), default=0)

    def _fits(self, sentence: Sentence, others: int, width: int) -> bool:
        """Return whether one more sentence is within the budget; a single one always is."""
        return others == 0 or (others + 1) * max(width, sentence.size) <= self._budget.tokens
