"""Decoding whose tensors keep shape and place from step to step: what a step is captured over, and replayed.

A frame is room for a batch, and each of its sizes is one of few (`Shape.of`): what is smaller is put into it, and what
is beyond it is padding that nobody sees. Where a step writes is a number in memory, which the step itself raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from models.kernels.choices import Choice, Chosen
from models.network.inference.blocks import Block, Blocks, Named
from models.network.inference.graphs import Capture
from models.network.inference.shapes import few, put_into, room_for
from models.network.inference.static_state import StaticState
from models.network.state import MASK, State

Step = Callable[[Tensor, State], Tensor]
"""Gives the scores of the next token, (R, V), after the last ones, (R,); advances the state."""

_Found = tuple[Tensor, tuple[Tensor, ...]]
"""The scores of a step, and what a choice has found in them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a frame."""

    sentences: int
    beam: int
    room: int
    fixed: tuple[Named, ...]
    """Each tensor that belongs to the sentences, its sizes without that of the batch."""
    choice: Choice | None = None
    """What the step takes of its scores; nothing, if somebody else does."""

    @classmethod
    def of(cls, state: State, rows: int, choice: Choice | None = None) -> Self:
        """The frame in which the next word of a state with so many hypotheses is decoded, and chosen."""
        sentences = len(next(iter(state.fixed.values())))
        fixed = tuple((name, tensor.dtype, _bucket(name, tensor.shape)) for name, tensor in state.fixed.items())
        room = room_for(state.position + 1)
        return cls(few(sentences), rows // sentences, room, fixed, choice)


class Frame:
    """Room for batches of a shape, and the step over it."""

    def __init__(self, shape: Shape, step: Step, capture: Capture, device: torch.device) -> None:
        """Make room, and have the step captured over it.

        Args:
            shape: of the frame.
            step: of a decoder.
            capture: is given a step that may be done with anything.
            device: of everything.
        """
        rows = shape.sentences * shape.beam
        self.shape = shape
        self._fixed = Blocks.room([(name, kind, (shape.sentences, *rest)) for name, kind, rest in shape.fixed], device)
        self._origins = torch.arange(rows, device=device)
        self._moves = shape.beam > 1
        self._tokens = torch.zeros_like(self._origins)
        self._everyone = self._origins.clone()
        self._totals = torch.zeros(shape.sentences, shape.beam, device=device)
        self._state = StaticState(
            dict(self._fixed.tensors),
            cached=True,
            here=self._origins[:1].clone(),
            starts=torch.zeros_like(self._origins),
            room=shape.room,
        )
        self._step = step
        self.words = Blocks.room([], device)
        """The room for words."""
        self._result_bytes = self._run()[0].nbytes
        wanted = [(name, cache.dtype, tuple(cache.shape)) for name, cache in self._state.past.items()]
        self._state.past.clear()  # whose memory is needed now
        self.words = Blocks.room(wanted, device)
        self._state.past |= self.words.tensors
        self._replay = capture(self._run)

    @property
    def nbytes(self) -> int:
        """Memory that is held for batches, for the result of a step, and for what it moves at once."""
        parts = self._state.fixed, self._state.past
        moved = max((part.together.nbytes for part in self._moved), default=0)
        return self._result_bytes + moved + sum(tensor.nbytes for part in parts for tensor in part.values())

    def fill(self, state: State, blocks: Blocks | None = None, words: Blocks | None = None) -> None:
        """Take in what a state has; of what stands here already, nothing moves.

        Args:
            state: its tensors.
            blocks: what belongs to the sentences, if it is in blocks.
            words: what its words have left, if that is.
        """
        room = self._fixed if blocks is not None else Blocks.apart(self._fixed.tensors)
        for part, space in zip((blocks or Blocks.apart(state.fixed)).parts, room.parts, strict=True):
            part.put_into(space)
        self._fill_past(state, words)
        if state.starts is None:
            self._state.starts.zero_()
        else:
            self._state.starts[: len(state.starts)].copy_(state.starts)
        self._state.here.fill_(state.position)

    def _fill_past(self, state: State, words: Blocks | None) -> None:
        columns = self._state.columns
        if columns is not None and state.columns is not None and self._has(state):
            put_into(state.columns, columns[: len(state.columns), : state.columns.size(1)])
            columns[:, state.position :] = self._everyone[:, None]
            return
        if columns is not None:
            columns.copy_(self._everyone[:, None].expand_as(columns))
        room = self.words if words is not None else Blocks.apart({name: self._state.past[name] for name in state.past})
        for part, space in zip((words or Blocks.apart(state.past)).parts, room.parts, strict=True):
            known = state.ordered(part.together)
            put_into(known, space.together[:, : state.position, : known.size(2)])

    def _has(self, state: State) -> bool:
        """Whether the words of a state stand here, wherever each is."""
        return all(cache.data_ptr() == self._state.past[name].data_ptr() for name, cache in state.past.items())

    def fixed(self, sentences: int) -> Blocks:
        """What belongs to the first sentences, in place."""
        return self._fixed.first(sentences)

    def past(self, rows: int) -> dict[str, Tensor]:
        """What belongs to the first hypotheses, in place: all words, where they are looked up."""
        if self._state.columns is not None:
            return dict(self._state.past)
        return {name: cache[:, :rows] for name, cache in self._state.past.items()}

    def columns(self, rows: int) -> Tensor | None:
        """Where the words of the first hypotheses are looked up, in place, if they are."""
        return None if self._state.columns is None else self._state.columns[:rows]

    def step(self, tokens: Tensor, origins: Tensor | None) -> Tensor:
        """Go on by a token.

        Args:
            tokens: (R,) the last ones, of fewer hypotheses than there is room for, or as many.
            origins: (R,) what each of them continues, if that has changed since the last step; with a beam only.

        Returns:
            As the captured step, for these hypotheses.
        """
        if self.shape.choice is None:
            return self._go_on(tokens, origins)[0][: len(tokens)]
        totals = self._totals.clone()  # which whoever chooses for itself may have been given, and needs
        scores = self._go_on(tokens, origins)[0][: len(tokens)]
        self._totals.copy_(totals)
        return scores

    def choose(self, tokens: Tensor, totals: Tensor | None, origins: Tensor | None) -> Chosen:
        """Go on by a token, and choose the next one by the choice of the shape.

        Args:
            tokens: as of `step`.
            totals: (B, N) log-probabilities of the hypotheses so far, if the choice depends on them.
            origins: as of `step`.

        Returns:
            What was chosen: what is found is the caller's, the rest stands where the next step reads it.
        """
        rows = len(tokens)
        sentences = rows // self.shape.beam
        if totals is not None:
            put_into(totals, self._totals)
        found = tuple(each[..., :sentences, :].clone() for each in self._go_on(tokens, origins)[1])
        moved = self._origins[:rows] if self._moves else None
        return Chosen(found, self._tokens[:rows], self._totals[:sentences], moved)

    def _go_on(self, tokens: Tensor, origins: Tensor | None) -> _Found:
        put_into(tokens, self._tokens)
        if self._moves:
            put_into(self._everyone[: len(tokens)] if origins is None else origins, self._origins)
        found: _Found = self._replay()
        return found

    def _run(self) -> _Found:
        """The scores of the next token, and what the choice finds in them; goes on with what it chooses."""
        if self._moves and self._state.columns is not None:
            self._state.move(self._origins)
        else:
            for part in self._moved:
                part.together.copy_(part.together.index_select(2, self._origins))
        if self.shape.choice is None:
            return self._step(self._tokens, self._state), ()
        said = self._state.here - self._state.starts
        scores = self._step(self._tokens, self._state)
        return scores, self._take(self.shape.choice(scores, self._totals, said))

    def _take(self, chosen: Chosen) -> tuple[Tensor, ...]:
        """Let the next step go on with what was chosen; gives what was found."""
        put_into(chosen.tokens, self._tokens)
        put_into(chosen.totals, self._totals)
        if chosen.rows is not None:
            put_into(chosen.rows, self._origins)
        return chosen.found

    @property
    def _moved(self) -> Sequence[Block]:
        """What a step moves from hypothesis to hypothesis: nothing, where words are looked up."""
        return self.words.parts if self._moves and self._state.columns is None else ()


def _bucket(name: str, shape: torch.Size) -> tuple[int, ...]:
    """The sizes of a tensor (B, ...) without the first; lengths are those of a frame."""
    sizes = list(shape[1:])
    place = {4: 2 if name.endswith(MASK) else 1, 2: 0}.get(len(shape))
    if place is not None:  # masks (B, 1, 1, S), keys and values (B, H, S, D/H), words (B, S)
        sizes[place] = room_for(sizes[place])
    return tuple(sizes)
