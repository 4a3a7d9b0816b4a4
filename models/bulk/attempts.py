"""How often each part of a corpus was begun; on its own, since what counts on a cluster loads nothing but this."""

from collections import Counter


class Attempts:
    """Counts attempts by part; an actor, which outlives the workers."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, key: str) -> int:
        """Count one more, and say how many there were before."""
        self._begun[key] += 1
        return self._begun[key] - 1
