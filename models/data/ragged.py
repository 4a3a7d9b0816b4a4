"""Sequences of token ids of any lengths, in one array: millions of them are few objects, and little memory."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from models.data.batches import Tokens

_AT_ONCE: Final = 10_000
"""Texts that are tokenized together: as Python's integers their ids take ten times the memory."""


class Ragged(Sequence[Tokens]):
    """Sequences of token ids that are not changed any more; each is a part of one array, and is not copied.

    An array of its own would take a sequence of thirty tokens twice the memory; and processes that are forked copy what
    they look at, where that is many small objects, since Python counts who refers to each.
    """

    def __init__(self, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Divide `ids` into sequences of these lengths, which sum to its own."""
        self.ids: Final = ids
        """Of all sequences, one behind the other."""
        self.lengths: Final = lengths
        """Tokens of each."""
        self._ends: Final = np.concatenate([[0], np.cumsum(lengths)]).data  # whose items are Python's integers

    @classmethod
    def of(cls, texts: Sequence[str], encode: Callable[[Sequence[str]], Sequence[Tokens]]) -> "Ragged":
        """The sequences that `encode` makes of texts."""
        ids, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for begin in range(0, len(texts), _AT_ONCE):
            made = encode(texts[begin : begin + _AT_ONCE])
            ids.append(np.fromiter((token for tokens in made for token in tokens), np.int32))
            lengths.append(np.fromiter(map(len, made), np.int64))
        return cls(np.concatenate(ids), np.concatenate(lengths))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.lengths)

    @overload
    def __getitem__(self, index: int) -> Tokens: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tokens]: ...
    def __getitem__(self, index: int | slice) -> Tokens | list[Tokens]:
        """One of them, or several that follow one another; arrays, which are read as lists would be."""
        if isinstance(index, slice):
            first, end, _ = index.indices(len(self))
            bounds = self._ends[first : end + 1]
            return [self.ids[begin:end] for begin, end in pairwise(bounds)]  # type: ignore[return-value]
        number = range(len(self))[index]
        return self.ids[self._ends[number] : self._ends[number + 1]]  # type: ignore[return-value]
