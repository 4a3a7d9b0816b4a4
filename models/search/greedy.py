"""Greedy search: the most likely token at each step; a finished sentence leaves the batch.

A sentence with a draft gets the tokens that agree with it as soon as it is added; see `models.search.verify`.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import torch
from torch import Tensor

from models.data.batches import Batch, Memory
from models.data.tokenizer import BOS, EOS
from models.kernels.choices import Stretch
from models.search.decoder import Decoder, State
from models.search.hypotheses import Hypothesis, SearchOptions
from models.search.loops import LoopGuard
from models.search.running import Found, Wanted, enough_to_move, staying, worth_moving
from models.search.verify import agreement, verify
from models.search.vocabulary import Likeliest, likeliest


@dataclass
class _Row:
    """A sentence of the batch and its translation so far."""

    wanted: Wanted
    tokens: list[int] = field(default_factory=list)
    total: float = 0.0
    done: bool = False
    kept: int = 0
    """How many of its tokens come from its draft."""

    @property
    def remaining(self) -> int:
        """How many more tokens may follow."""
        return 0 if self.done else self.wanted.max_length - len(self.tokens)

    @property
    def last(self) -> int:
        """The token that the decoder reads next."""
        return self.tokens[-1] if self.tokens else BOS

    def take(self, tokens: Sequence[int], values: Sequence[float]) -> bool:
        """Append one token or more, up to the end; return whether the sentence is then done."""
        for token, value in zip(tokens, values, strict=True):
            self.tokens.append(token)
            self.total += value
            if token == EOS or len(self.tokens) >= self.wanted.max_length:
                self.done = True
                break
        return self.done

    def found(self, options: SearchOptions, memory: Memory) -> Found:
        finished = self.tokens[-1] == EOS
        tokens = self.tokens[:-1] if finished else self.tokens
        score = options.normalize(self.total, len(self.tokens))
        return Found(self.wanted.key, [Hypothesis(tokens, score, self.total, finished, memory, self.kept)])


class GreedySearch(Generic[State]):
    """Search with a beam of one; satisfies `models.search.running.Search`."""

    def __init__(self, decoder: Decoder[State], options: SearchOptions) -> None:
        self._decoder = decoder
        self._options = options
        self._guard = LoopGuard(options.most_repeated)
        self._choice = Likeliest(options.min_length)
        self._rows: list[_Row] = []
        self._state: State | None = None
        self._tokens = torch.empty(0, dtype=torch.long)
        self._ready: list[Found] = []
        self.taken = 1

    @property
    def running(self) -> int:
        """How many sentences are not done, or are done but not yet returned by a step."""
        return sum(not row.done for row in self._rows) + len(self._ready)

    @torch.inference_mode()
    def add(self, batch: Batch, wanted: Sequence[Wanted]) -> None:
        """Start the sentences of a batch."""
        self._leave_done()
        state = self._decoder.start(batch)
        rows = [_Row(each) for each in wanted]
        if any(each.draft for each in wanted):
            rows = self._verify(rows, state, batch.source.device)
        if not rows:
            return
        tokens = batch.source.new_tensor([row.last for row in rows])
        if self._state is None:
            self._state, self._tokens = state, tokens
        else:
            self._state.join(state, len(self._rows), len(rows))
            self._tokens = torch.cat([self._tokens, tokens])
        self._rows += rows
        self._guard.begin()

    @torch.inference_mode()
    def step(self) -> list[Found]:
        """Advance by a token or several; return what is done, including sentences that were done when added."""
        found, self._ready = self._ready, []
        if self._state is None:
            return found
        state, forbidden = self._state, self._guard.forbidden(self._going)
        steps = self._guard.allows(min(self._decoder.stride, max(row.remaining for row in self._rows)))
        tokens, values = (_by_row(each) for each in self._advance(steps, state, forbidden))
        self.taken = len(tokens[0])
        self._guard.pass_on(self.taken)
        found += self._append(tokens, values, state)
        self._leave_if_worth()
        return found

    @torch.inference_mode()
    def drop(self, keys: Collection[int]) -> None:
        """Continue without these sentences."""
        for row in self._rows:
            row.done |= row.wanted.key in keys
        self._ready = [found for found in self._ready if found.key not in keys]
        self._leave_if_worth()

    def _verify(self, rows: Sequence[_Row], state: State, device: torch.device) -> list[_Row]:
        """Append what the drafts of just-started sentences allow; return the sentences that are then not done."""
        drawn = verify(self._decoder, state, [row.wanted for row in rows], self._options, device)
        for row, tokens in zip(rows, drawn, strict=True):
            row.kept = agreement(row.wanted.draft, tokens)
            for token, value in tokens:
                row.take([token], [value])
        self._ready += self._found(rows, [i for i, row in enumerate(rows) if row.done], state)
        going = torch.tensor([i for i, row in enumerate(rows) if not row.done], dtype=torch.long, device=device)
        _keep(going, len(rows), state)
        return [row for row in rows if not row.done]

    def _advance(self, steps: int, state: State, forbidden: Sequence[tuple[int, int]]) -> tuple[Tensor, ...]:
        """Take at most so many steps; return each row's tokens and their log-probabilities, (T, R) each."""
        if self._decoder.stretches:
            chosen = self._decoder.stretch(self._tokens, None, state, self._limits(steps, forbidden))
            self._tokens = chosen.tokens
            return chosen.found
        drawn = [self._draw(ahead, state, () if ahead else forbidden) for ahead in range(steps)]
        tokens, values = (torch.stack(each) for each in zip(*drawn, strict=True))
        return tokens, values

    def _limits(self, steps: int, forbidden: Sequence[tuple[int, int]]) -> Stretch:
        return Stretch(
            steps,
            [max(0, self._options.min_length - len(row.tokens)) for row in self._rows],
            forbidden,
            [row.remaining for row in self._rows],
            [1] * len(self._rows),
            enough_to_move(len(self._rows)),
        )

    def _draw(self, ahead: int, state: State, forbidden: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
        """Return each row's next token and its log-probability; rows are `ahead` tokens longer than was looked at."""
        chosen = None if forbidden else self._decoder.choose(self._tokens, None, state, self._choice)
        if chosen is not None:
            self._tokens = chosen.tokens
            tokens, values = (each[:, 0] for each in chosen.found)
            return tokens, values
        logits = self._decoder.step(self._tokens, state)
        least = self._options.min_length - ahead
        early = [i for i, row in enumerate(self._rows) if len(row.tokens) < least]
        self._tokens, values = likeliest(logits, early, forbidden)
        return self._tokens, values

    def _going(self) -> Iterator[tuple[int, list[int]]]:
        """Return the rows that are not done, and their tokens."""
        return ((i, row.tokens) for i, row in enumerate(self._rows) if not row.done)

    def _append(self, tokens: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]], state: State) -> list[Found]:
        """Append tokens to the rows that are not done; return the sentences that are then done."""
        ended = [
            i
            for i, (row, *some) in enumerate(zip(self._rows, tokens, values, strict=True))
            if not row.done and row.take(*some)
        ]
        return self._found(self._rows, ended, state)

    def _found(self, rows: Sequence[_Row], ended: Sequence[int], state: State) -> list[Found]:
        """Return the results of the rows of a state that have ended."""
        finished = [i for i in ended if rows[i].tokens[-1] == EOS]
        left = dict(zip(finished, self._decoder.leave(finished, state) if finished else (), strict=True))
        return [rows[i].found(self._options, left.get(i, {})) for i in ended]

    def _leave_if_worth(self) -> None:
        if worth_moving(sum(row.done for row in self._rows), len(self._rows)):
            self._leave_done()

    def _leave_done(self) -> None:
        order = staying([row.done for row in self._rows])
        going = self._tokens.new_tensor(order)
        if self._state is not None:
            _keep(going, len(self._rows), self._state)
        self._tokens = self._tokens[going]
        self._rows = [self._rows[i] for i in order]
        self._state = self._state if self._rows else None


def _by_row(drawn: Tensor) -> list[tuple[Any, ...]]:
    """Bring what was drawn in some steps, (T, R), from the device by one transfer, row by row."""
    return list(zip(*drawn.tolist(), strict=True))


def _keep(going: Tensor, rows: int, state: State) -> None:
    """Keep only these rows (R',) of a state; if there are none, the caller drops the state instead."""
    if 0 < len(going) < rows:
        state.keep(going)
        state.reorder(going)
