"""Counter of attempts at parts of a corpus; separate, so that the counting actor on a cluster imports nothing else."""

from collections import Counter


class Attempts:
    """An actor that counts attempts by part, and outlives the workers."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, key: str) -> int:
        """Count one more attempt, and return how many there were before."""
        self._begun[key] += 1
        return self._begun[key] - 1
