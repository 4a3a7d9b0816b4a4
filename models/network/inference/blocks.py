"""Named tensors, stored together by kind, so that moving them all takes one kernel per kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from models.network.inference.shapes import put_into
from models.network.state import MASK, MEMORY, cropped, hidden_by

Named = tuple[str, torch.dtype, tuple[int, ...]]
"""Name, type and sizes of a tensor."""
_Kind = tuple[str | None, bool, bool, torch.dtype, tuple[int, ...]]
"""Mask that hides the padding, whether it is a mask itself, whether padding is on the left, type and sizes."""


@dataclass(frozen=True, slots=True)
class Block:
    """Tensors of the same type and sizes, whose padding is hidden by the same mask, or by none."""

    names: tuple[str, ...]
    together: Tensor
    """(K, ...)."""

    def keep(self, sentences: Tensor, lengths: Mapping[str, int]) -> Block:
        """Return the block of some sentences (B',), from tensors (B, ...); cropped if `lengths` has their names."""
        name, together = self.names[0], self.together
        if name in lengths:
            together = cropped(name, together, lengths[name])
        return Block(self.names, together.index_select(1, sentences))

    def put_into(self, room: Block) -> None:
        """Copy tensors (B, ...) into `room`; the rest of their rows there becomes padding."""
        name = self.names[0]
        padding = torch.finfo(self.together.dtype).min / 2 if name.endswith(MASK) else 0
        ours, theirs = (each.together.transpose(0, 1) for each in (self, room))
        put_into(ours, theirs, padding, at_end=name.startswith(MEMORY))


class Blocks:
    """Tensors by name, stored in blocks."""

    def __init__(self, parts: Iterable[Block], order: Iterable[str]) -> None:
        """Hold the tensors of blocks, listed in an order."""
        self.parts: Final = tuple(parts)
        tensors = {name: each for part in self.parts for name, each in zip(part.names, part.together, strict=True)}
        self.tensors: Final[Mapping[str, Tensor]] = {name: tensors[name] for name in order}
        """The tensors by name."""

    @classmethod
    def room(cls, wanted: Sequence[Named], device: torch.device) -> Blocks:
        """Allocate zeros for some tensors, in as few blocks as possible."""
        order = [name for name, *_ in wanted]
        masks, alike = hidden_by(order), dict[_Kind, list[str]]()
        for name, kind, sizes in wanted:
            how = masks.get(name), name.endswith(MASK), name.startswith(MEMORY)
            alike.setdefault((*how, kind, sizes), []).append(name)
        parts = (
            Block(tuple(names), torch.zeros(len(names), *sizes, dtype=kind, device=device))
            for (*_, kind, sizes), names in alike.items()
        )
        return cls(parts, order)

    @classmethod
    def apart(cls, tensors: Mapping[str, Tensor]) -> Blocks:
        """Wrap tensors in place, each as its own block."""
        return cls((Block((name,), tensor[None]) for name, tensor in tensors.items()), tensors)

    def are(self, tensors: Mapping[str, Tensor]) -> bool:
        """Whether these are exactly the tensors here, none having been replaced."""
        return tensors.keys() == self.tensors.keys() and all(
            tensor.data_ptr() == self.tensors[name].data_ptr() and tensor.shape == self.tensors[name].shape
            for name, tensor in tensors.items()
        )

    def first(self, count: int) -> Blocks:
        """Return the tensors of the first `count` sentences, as views."""
        return Blocks((Block(part.names, part.together[:, :count]) for part in self.parts), self.tensors)

    def keep(self, sentences: Tensor, lengths: Mapping[str, int]) -> Blocks:
        """Keep some sentences, as `Block.keep`."""
        return Blocks((part.keep(sentences, lengths) for part in self.parts), self.tensors)
