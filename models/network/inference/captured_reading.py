"""Encoding sentences and their contexts by captured graphs, as `frame` has the steps of decoding.

The encoders of a batch are some hundred kernels, which take Python several times as long to launch as they take to run.
So each encoding is captured for each of a few shapes, and what is smaller than one is padded to it.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from models.data.batches import Batch
from models.data.tokenizer import PAD
from models.network.context import Context
from models.network.decoding import ModelDecoder
from models.network.inference.capturing import Capturing
from models.network.inference.graphs import Capture
from models.network.inference.shapes import few, put_into, room_for
from models.network.state import State
from models.network.state_cache import Compute

FEW_TOKENS: Final = 2**12
"""Padded tokens, of sentences and contexts together, of which a device is done before Python has launched it all."""
MOST_TOKENS: Final = 2**15
"""Up to which a graph still pays, where at most half of them is padding. More keep the device busy for longer."""

_Tensors = Mapping[str, Tensor]
_Function = Callable[[_Tensors], _Tensors]
_Shape = tuple[tuple[str, torch.dtype, tuple[int, ...]], ...]


class CapturedReading:
    """What is read of batches before their first words, by graphs where there can be some, and where they pay.

    A shape is captured when it comes for the second time: it takes as long as some batches do, and some never return.
    """

    def __init__(self, capturing: Capturing, plain: ModelDecoder, limit: int) -> None:
        """Read by graphs.

        Args:
            capturing: makes them.
            plain: does what they do, and does not hold this.
            limit: bytes that graphs keep together for what they read and give.
        """
        self._capturing = capturing
        self._plain = plain
        self._positions = len(plain.model.backbone.positions)
        self._context_positions = plain.model.architecture.context_positions or self._positions
        lengths = plain.model.architecture.lengths
        self._lengths = None if lengths is None else {"source": 1, **lengths}
        self._limit = limit
        self._seen: set[_Shape] = set()
        self._kept: OrderedDict[_Shape, _Graph] = OrderedDict()

    def clear(self) -> None:
        """Free the memory."""
        self._kept.clear()

    def context(self, compute: Compute, *inputs: Tensor) -> Sequence[Tensor]:
        """States of context (U, X or more, E) as `compute` gives them, until something else is read.

        Args:
            compute: the same each time.
            inputs: ids (U, X), padded on the right, of which a row may be padding alone.
        """
        named = {f"context.{number}": ids for number, ids in enumerate(inputs)}

        def function(read: _Tensors) -> _Tensors:
            return {str(number): states for number, states in enumerate(compute(*read.values()))}

        found = self._run(function, named, dict.fromkeys(named, 1))
        return compute(*inputs) if found is None else list(found.values())

    def start(self, batch: Batch, context: Context) -> State | None:
        """The state of a batch in its context, settled; nothing, if it cannot be had by a graph."""
        read = {"source": batch.source, **context}
        if self._lengths is None or not read.keys() <= self._lengths.keys():
            return None
        begin = self._plain.begin  # all that the graph holds: not this object, nor what is read of this batch

        def function(read: _Tensors) -> _Tensors:
            context = {name: tensor for name, tensor in read.items() if name != "source"}
            return begin(Batch(read["source"], None, {}), context).fixed

        found = self._run(function, read, self._lengths)
        return None if found is None else State({name: tensor.clone() for name, tensor in found.items()}, cached=True)

    def _run(self, function: _Function, inputs: _Tensors, lengths: Mapping[str, int | None]) -> _Tensors | None:
        sizes = {name: _padded(each.shape, lengths[name], self._most(name)) for name, each in inputs.items()}
        tokens = [name for name in inputs if lengths[name] == 1]
        real = sum(math.prod(inputs[name].shape[:2]) for name in tokens)
        if not _pays(sum(math.prod(sizes[name][:2]) for name in tokens), real):
            return None
        shape = tuple((name, each.dtype, sizes[name]) for name, each in inputs.items())
        graph = self._kept.pop(shape, None) or self._captured(shape, function, next(iter(inputs.values())).device)
        if graph is None:
            return None
        found = graph.run(inputs)
        self._keep(shape, graph)
        return found

    def _most(self, name: str) -> int:
        return self._positions if name == "source" else self._context_positions

    def _captured(self, shape: _Shape, function: _Function, device: torch.device) -> "_Graph | None":
        if shape not in self._seen:
            self._seen.add(shape)
            return None
        return self._capturing.make(lambda capture: _Graph(shape, function, capture, device))

    def _keep(self, shape: _Shape, graph: "_Graph") -> None:
        """As the one that was used last; those before it go where all are too many bytes."""
        self._kept[shape] = graph
        while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > self._limit:
            other, _ = self._kept.popitem(last=False)
            self._seen.discard(other)


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
        self.nbytes = self.nbytes or sum(tensor.nbytes for part in (self._room, found) for tensor in part.values())
        rows = len(next(iter(inputs.values())))
        return {name: tensor[:rows] for name, tensor in found.items()}

    def _run(self) -> _Tensors:
        return self._function(self._room)


def _padded(shape: torch.Size, length: int | None, most: int) -> tuple[int, ...]:
    """The sizes of the room for a tensor: each of rows and lengths is one of few."""
    sizes = [few(shape[0]), *shape[1:]]
    if length is not None:
        sizes[length] = room_for(sizes[length], most)
    return tuple(sizes)


def _pays(padded: int, real: int) -> bool:
    """Whether a graph of so many tokens is faster than Python, of which so many are real, or padding of the batch."""
    return padded <= FEW_TOKENS or padded <= min(MOST_TOKENS, 2 * real)
