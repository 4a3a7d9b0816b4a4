"""When a Redis counts as away, so that calls fail at once instead of each waiting for its time to run out.

A pure counter. No client's request has to try whether Redis is back: `Commands` asks by pings of its own.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """Opens after `threshold` calls in a row without a reply; the next reply closes it."""

    threshold: int
    failures: int = 0

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self.failures >= self.threshold

    def failed(self) -> bool:
        """Count a call without a reply; whether that has opened it."""
        self.failures += 1
        return self.failures == self.threshold

    def succeeded(self) -> bool:
        """Count a reply; whether that has closed it."""
        was_open = self.is_open
        self.failures = 0
        return was_open
