"""Token sequences of varying length in one array: millions of them take few objects and little memory."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from models.data.batches import Tokens

_AT_ONCE: Final = 10_000
"""Texts tokenized at a time: as Python integers their ids take ten times the memory."""


class Ragged(Sequence[Tokens]):
    """Immutable sequences of token ids; each is a view of one array.

    As separate arrays, sequences of thirty tokens would take twice the memory; and forked processes copy small objects
    just by looking at them, since Python counts their references.
    """

    def __init__(self, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Divide `ids` into sequences of these lengths, which sum to the length of `ids`."""
        self.ids: Final = ids
        """Ids of all sequences, concatenated."""
        self.lengths: Final = lengths
        """Number of tokens of each sequence."""
        self._ends: Final = np.concatenate([[0], np.cumsum(lengths)]).data  # a memoryview gives Python integers

    @classmethod
    def of(cls, texts: Sequence[str], encode: Callable[[Sequence[str]], Sequence[Tokens]]) -> "Ragged":
        """Build the sequences that `encode` makes of texts."""
        ids, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for begin in range(0, len(texts), _AT_ONCE):
            made = encode(texts[begin : begin + _AT_ONCE])
            ids.append(np.fromiter((token for tokens in made for token in tokens), np.int32))
            lengths.append(np.fromiter(map(len, made), np.int64))
        return cls(np.concatenate(ids), np.concatenate(lengths))

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> Tokens: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tokens]: ...
    def __getitem__(self, index: int | slice) -> Tokens | list[Tokens]:
        """Return one sequence, or several consecutive ones, as arrays to be used like lists."""
        if isinstance(index, slice):
            first, end, _ = index.indices(len(self))
            bounds = self._ends[first : end + 1]
            return [self.ids[begin:end] for begin, end in pairwise(bounds)]  # type: ignore[return-value]
        number = range(len(self))[index]
        return self.ids[self._ends[number] : self._ends[number + 1]]  # type: ignore[return-value]
