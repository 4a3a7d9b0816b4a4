"""How much a device is given to do at a time: less, once it has shown that it has no memory for all of it."""

from typing import Final

RECOVERY: Final = 500
"""Steps in a row without a failure after which twice as much is tried again: what took the memory may be gone."""


class TokenBudget:
    """Padded source tokens that are begun and not done, in flows that come and go: what one has found out, all know."""

    def __init__(self, most: int) -> None:
        self.tokens = most
        """So many may be."""
        self._most = most
        self._sound = 0
        """Steps since the device had no memory, or since the budget grew."""

    def fail(self, tokens: int) -> None:
        """There was no memory for so many: from now on there may be half as many."""
        if tokens:
            self.tokens = min(self.tokens, max(1, tokens // 2))
        self._sound = 0

    def succeed(self) -> None:
        """A step went well; what was given up is taken back by and by."""
        self._sound += 1
        if self.tokens < self._most and self._sound >= RECOVERY:
            self.tokens, self._sound = min(self._most, 2 * self.tokens), 0
