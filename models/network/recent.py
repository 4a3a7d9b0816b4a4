"""What was used most recently, up to so many bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key, of which those that were used longest ago go first."""

    def __init__(self, limit: int) -> None:
        """Keep values of at most `limit` bytes together."""
        self._limit = limit
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size = 0
        """Bytes of all that is kept."""
        self.hits = 0
        """How often a value that was asked for was kept."""
        self.misses = 0
        """How often it was not."""

    def get(self, key: K) -> V | None:
        """The value of a key, if it is kept; it counts as used."""
        found = self._kept.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of so many bytes, unless the key has one already; it counts as used."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return
        self._kept[key] = value, size
        self.size += size
        while self.size > self._limit:
            _, (_, freed) = self._kept.popitem(last=False)
            self.size -= freed

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
        self.size = 0
