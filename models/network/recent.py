"""A least-recently-used cache with a limit in bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key; the least recently used are dropped first."""

    def __init__(self, limit: int) -> None:
        """Keep values of at most `limit` bytes in total."""
        self._limit = limit
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.size = 0
        """Total bytes of the kept values."""
        self.hits = 0
        """Number of lookups that found a value."""
        self.misses = 0
        """Number of lookups that found none."""

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None; this counts as a use."""
        found = self._kept.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep a value of `size` bytes, unless the key already has one; this counts as a use."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return
        self._kept[key] = value, size
        self.size += size
        while self.size > self._limit:
            _, (_, freed) = self._kept.popitem(last=False)
            self.size -= freed

    def clear(self) -> None:
        """Drop all values."""
        self._kept.clear()
        self.size = 0
