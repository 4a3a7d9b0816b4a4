"""Encoding sentences and their contexts by captured graphs, as `static_state` has the steps of decoding.

The encoders of a batch are some hundred kernels, which take Python several times as long to launch as they take to run.
So each encoding is captured once for each of a few shapes, and what is smaller than one is padded to it.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from models.data.batches import Batch
from models.data.tokenizer import PAD
from models.network.context import Context
from models.network.inference.capturing import Capturing
from models.network.inference.static_state import Capture, few, power_of_two, put_into
from models.network.state import ROOM, State
from models.network.state_cache import Compute

MOST_TOKENS: Final = 2**15
"""Padded tokens, of sentences and contexts together, up to which a graph pays. More keep the device busy for longer
than Python needs to launch their kernels, and padding would cost more than is spared."""

_Tensors = Mapping[str, Tensor]
_Function = Callable[[_Tensors], _Tensors]
_Shape = tuple[tuple[str, torch.dtype, tuple[int, ...]], ...]


class CapturedReading:
    """What is read of batches before their first words, by graphs where there can be some."""

    def __init__(
        self,
        capturing: Capturing,
        begin: Callable[[Batch, Context], State],
        lengths: Mapping[str, int | None] | None,
        limit: int,
    ) -> None:
        """Read by graphs.

        Args:
            capturing: makes them.
            begin: gives the state of a batch in its context.
            lengths: of the architecture.
            limit: bytes that graphs keep together for what they read and give.
        """
        self._capturing = capturing
        self._begin = begin
        self._lengths = None if lengths is None else {"source": 1, **lengths}
        self._limit = limit
        self._kept: OrderedDict[_Shape, _Graph] = OrderedDict()

    def clear(self) -> None:
        """Free the memory."""
        self._kept.clear()

    def context(self, compute: Compute, *inputs: Tensor) -> Sequence[Tensor]:
        """States of context (U, X or more, E) as `compute` gives them of ids (U, X), until something else is read."""
        named = {f"context.{number}": ids for number, ids in enumerate(inputs)}

        def function(read: _Tensors) -> _Tensors:
            return {str(number): states for number, states in enumerate(compute(*read.values()))}

        found = self._run(function, named, dict.fromkeys(named, 1))
        return compute(*inputs) if found is None else list(found.values())

    def start(self, batch: Batch, context: Context) -> State | None:
        """The state of a batch in its context, as `begin` gives it; nothing, if it cannot be had by a graph."""
        if self._lengths is None:
            return None
        read = {"source": batch.source, **context}

        def function(read: _Tensors) -> _Tensors:
            source = Batch(read["source"], None, {})
            return self._begin(source, {name: read[name] for name in context}).fixed

        found = self._run(function, read, self._lengths)
        return None if found is None else State({name: tensor.clone() for name, tensor in found.items()}, cached=True)

    def _run(self, function: _Function, inputs: _Tensors, lengths: Mapping[str, int | None]) -> _Tensors | None:
        shape = tuple((name, each.dtype, _padded(each.shape, lengths[name])) for name, each in inputs.items())
        if sum(sizes[0] * sizes[1] for name, _, sizes in shape if lengths[name] == 1) > MOST_TOKENS:
            return None
        graph = self._kept.pop(shape, None)
        if graph is None:
            device = next(iter(inputs.values())).device
            graph = self._capturing.make(lambda capture: _Graph(shape, function, capture, device))
        if graph is None:
            return None
        found = graph.run(inputs)
        self._keep(shape, graph)
        return found

    def _keep(self, shape: _Shape, graph: "_Graph") -> None:
        """As the one that was used last; those before it go where all are too many bytes."""
        self._kept[shape] = graph
        while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > self._limit:
            self._kept.popitem(last=False)


class _Graph:
    """A function of tensors of one shape, captured."""

    def __init__(self, shape: _Shape, function: _Function, capture: Capture, device: torch.device) -> None:
        """Make room for what it reads, in which there is nothing but padding yet, and capture it."""
        self._room = {name: torch.zeros(sizes, dtype=kind, device=device) for name, kind, sizes in shape}
        self._function = function
        self._replay = capture(self._run)
        self.nbytes = 0
        """Of what it reads and gives, once it has run."""

    def run(self, inputs: _Tensors) -> _Tensors:
        """The result for inputs of its shape or less, and for padding at their ends; the next one overwrites it."""
        for name, tensor in inputs.items():
            put_into(tensor, self._room[name], PAD)
        found: _Tensors = self._replay()
        self.nbytes = sum(tensor.nbytes for part in (self._room, found) for tensor in part.values())
        rows = len(next(iter(inputs.values())))
        return {name: tensor[:rows] for name, tensor in found.items()}

    def _run(self) -> _Tensors:
        return self._function(self._room)


def _padded(shape: torch.Size, length: int | None) -> tuple[int, ...]:
    """The sizes of the room for a tensor: each of rows and lengths is one of few."""
    sizes = [few(shape[0]), *shape[1:]]
    if length is not None:
        sizes[length] = power_of_two(max(ROOM, sizes[length]))
    return tuple(sizes)
