"""Encoding of sentences and their contexts by captured graphs, as `frame` does for decoding steps.

Encoding a batch takes some hundred kernels, which Python takes several times as long to launch as they take to run.
So the encoding is captured for a small number of shapes, and smaller inputs are padded to one of them.
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
"""Padded tokens, of sentences and contexts together, that a device encodes faster than Python can launch the work."""
MOST_TOKENS: Final = 2**15
"""Padded tokens up to which a graph pays if at most half are padding; more than that keeps the device busy."""

_Tensors = Mapping[str, Tensor]
_Function = Callable[[_Tensors], _Tensors]
_Shape = tuple[tuple[str, torch.dtype, tuple[int, ...]], ...]


class CapturedReading:
    """Encodes batches before decoding starts, by graphs where these are possible and worthwhile.

    A shape is captured when it occurs the second time: capturing costs as much as some batches, and some never recur.
    """

    def __init__(self, capturing: Capturing, plain: ModelDecoder, limit: int) -> None:
        """Encode by graphs.

        Args:
            capturing: makes the graphs.
            plain: computes what the graphs capture; must not hold this object.
            limit: bytes that all graphs may keep for their inputs and results.
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
        """Drop all graphs and free their memory."""
        self._kept.clear()

    def context(self, compute: Compute, *inputs: Tensor) -> Sequence[Tensor]:
        """Return context states (U, X or more, E) as `compute` gives them; valid until the next graph runs.

        Args:
            compute: the same function each time.
            inputs: ids (U, X), padded on the right; a row may be all padding.
        """
        named = {f"context.{number}": ids for number, ids in enumerate(inputs)}

        def function(read: _Tensors) -> _Tensors:
            return {str(number): states for number, states in enumerate(compute(*read.values()))}

        found = self._run(function, named, dict.fromkeys(named, 1))
        return compute(*inputs) if found is None else list(found.values())

    def start(self, batch: Batch, context: Context) -> State | None:
        """Return the settled state of a batch in its context, or None if no graph can compute it."""
        read = {"source": batch.source, **context}
        if self._lengths is None or not read.keys() <= self._lengths.keys():
            return None
        begin = self._plain.begin  # the graph holds only this: neither `self` nor the batch

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
        """Keep a graph as the most recently used; drop the oldest ones while the total exceeds the limit."""
        self._kept[shape] = graph
        while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > self._limit:
            other, _ = self._kept.popitem(last=False)
            self._seen.discard(other)


class _Graph:
    """A captured function of tensors of one shape."""

    def __init__(self, shape: _Shape, function: _Function, capture: Capture, device: torch.device) -> None:
        """Allocate its inputs, all padding for now, and capture it."""
        self._room = {name: torch.zeros(sizes, dtype=kind, device=device) for name, kind, sizes in shape}
        self._function = function
        self._replay = capture(self._run)
        self.nbytes = 0
        """Bytes of its inputs and results, once it has run."""

    def run(self, inputs: _Tensors) -> _Tensors:
        """Return the result for inputs of its shape or smaller ones, padded at the end; the next run overwrites it."""
        for name, tensor in inputs.items():
            put_into(tensor, self._room[name], PAD)
        found: _Tensors = self._replay()
        self.nbytes = self.nbytes or sum(tensor.nbytes for part in (self._room, found) for tensor in part.values())
        rows = len(next(iter(inputs.values())))
        return {name: tensor[:rows] for name, tensor in found.items()}

    def _run(self) -> _Tensors:
        return self._function(self._room)


def _padded(shape: torch.Size, length: int | None, most: int) -> tuple[int, ...]:
    """Round the rows and the length of a tensor's shape up to one of a few sizes."""
    sizes = [few(shape[0]), *shape[1:]]
    if length is not None:
        sizes[length] = room_for(sizes[length], most)
    return tuple(sizes)


def _pays(padded: int, real: int) -> bool:
    """Whether a graph over `padded` tokens beats Python, if the batch has `real` ones, its own padding included."""
    return padded <= FEW_TOKENS or padded <= min(MOST_TOKENS, 2 * real)
