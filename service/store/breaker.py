"""When a Redis counts as away, so that calls fail at once instead of each waiting for its timeout.

A pure counter. No client's request has to find out whether Redis is back: `Nodes` sends pings of its own.
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
        """Count a call without a reply; return whether that has opened the breaker."""
        self.failures += 1
        return self.failures == self.threshold

    def succeeded(self) -> bool:
        """Count a reply; return whether that has closed the breaker."""
        was_open = self.is_open
        self.failures = 0
        return was_open
