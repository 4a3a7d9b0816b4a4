"""Decoding with tensors of fixed shape and address, so that a step can be captured once and replayed.

A frame is room for a batch, each of its sizes one of a few (`Shape.of`): smaller batches are copied into it, and the
rest is padding that nothing reads. The position at which a step writes is a number on the device, which the step
itself increments.
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
"""Returns scores of the next token, (R, V), after the last ones, (R,), and advances the state."""

_Found = tuple[Tensor, tuple[Tensor, ...]]
"""Scores of a step, and what a choice has found in them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a frame."""

    sentences: int
    beam: int
    room: int
    fixed: tuple[Named, ...]
    """Each per-sentence tensor, with its sizes except the batch's."""
    choice: Choice | None = None
    """How the step chooses from its scores; None if the caller chooses."""

    @classmethod
    def of(cls, state: State, rows: int, choice: Choice | None = None) -> Self:
        """Return the shape of the frame in which a state's next word, for so many rows, can be decoded and chosen."""
        sentences = len(next(iter(state.fixed.values())))
        fixed = tuple((name, tensor.dtype, _bucket(name, tensor.shape)) for name, tensor in state.fixed.items())
        room = room_for(state.position + 1)
        return cls(few(sentences), rows // sentences, room, fixed, choice)


class Frame:
    """Room for batches of one shape, and the captured step over it."""

    def __init__(self, shape: Shape, step: Step, capture: Capture, device: torch.device) -> None:
        """Allocate the room and capture the step over it.

        Args:
            shape: shape of the frame.
            step: a decoder's step.
            capture: captures a function that may be run on whatever the buffers contain.
            device: device of all tensors.
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
        """The room for what each word leaves, `State.past`."""
        self._result_bytes = self._run()[0].nbytes
        wanted = [(name, cache.dtype, tuple(cache.shape)) for name, cache in self._state.past.items()]
        self._state.past.clear()  # its memory is needed now
        self.words = Blocks.room(wanted, device)
        self._state.past |= self.words.tensors
        self._replay = capture(self._run)

    @property
    def nbytes(self) -> int:
        """Bytes held for batches, for the result of a step, and for the largest block moved at once."""
        parts = self._state.fixed, self._state.past
        moved = max((part.together.nbytes for part in self._moved), default=0)
        return self._result_bytes + moved + sum(tensor.nbytes for part in parts for tensor in part.values())

    def fill(self, state: State, blocks: Blocks | None = None, words: Blocks | None = None) -> None:
        """Copy in a state; tensors that are already here are not moved.

        Args:
            state: the state to copy.
            blocks: the state's per-sentence tensors in blocks, if they are stored so.
            words: what its words have left in blocks, likewise.
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
        """Whether the words of a state are stored in this frame, in whatever columns."""
        return all(cache.data_ptr() == self._state.past[name].data_ptr() for name, cache in state.past.items())

    def fixed(self, sentences: int) -> Blocks:
        """Return the tensors of the first sentences, as views."""
        return self._fixed.first(sentences)

    def past(self, rows: int) -> dict[str, Tensor]:
        """Return the past of the first hypotheses, as views; that of all, if words are looked up."""
        if self._state.columns is not None:
            return dict(self._state.past)
        return {name: cache[:, :rows] for name, cache in self._state.past.items()}

    def columns(self, rows: int) -> Tensor | None:
        """Return the columns of the first hypotheses' words, as a view, or None if words are not looked up."""
        return None if self._state.columns is None else self._state.columns[:rows]

    def step(self, tokens: Tensor, origins: Tensor | None) -> Tensor:
        """Decode one step.

        Args:
            tokens: (R,), the last tokens, of at most as many hypotheses as there is room for.
            origins: (R,), the hypothesis that each continues, if changed since the last step; with a beam only.

        Returns:
            The captured step's scores for these hypotheses.
        """
        if self.shape.choice is None:
            return self._go_on(tokens, origins)[0][: len(tokens)]
        totals = self._totals.clone()  # the caller may still hold and need these
        scores = self._go_on(tokens, origins)[0][: len(tokens)]
        self._totals.copy_(totals)
        return scores

    def choose(self, tokens: Tensor, totals: Tensor | None, origins: Tensor | None) -> Chosen:
        """Decode one step and choose the next tokens, as the shape's `choice` does.

        Args:
            tokens: as in `step`.
            totals: (B, N), log-probabilities of the hypotheses so far, if the choice depends on them.
            origins: as in `step`.

        Returns:
            The choice: `found` is a copy for the caller, the rest are the buffers that the next step reads.
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
        """Compute the next token's scores and what the choice finds in them, and store the choice for the next step."""
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
        """Store what was chosen for the next step, and return what was found."""
        put_into(chosen.tokens, self._tokens)
        put_into(chosen.totals, self._totals)
        if chosen.rows is not None:
            put_into(chosen.rows, self._origins)
        return chosen.found

    @property
    def _moved(self) -> Sequence[Block]:
        """The blocks that a step reorders between hypotheses: none, if words are looked up."""
        return self.words.parts if self._moves and self._state.columns is None else ()


def _bucket(name: str, shape: torch.Size) -> tuple[int, ...]:
    """Return the sizes of a tensor (B, ...) without the first, lengths rounded up to those of a frame."""
    sizes = list(shape[1:])
    place = {4: 2 if name.endswith(MASK) else 1, 2: 0}.get(len(shape))
    if place is not None:  # masks (B, 1, 1, S), keys and values (B, H, S, D/H), words (B, S)
        sizes[place] = room_for(sizes[place])
    return tuple(sizes)
