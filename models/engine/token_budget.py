"""How much a device is given to do at a time: less, once it has run out of memory."""

from typing import Final

RECOVERY: Final = 500
"""Successful steps in a row after which the budget is doubled again: what took up the memory may be gone."""


class TokenBudget:
    """The limit on padded source tokens of running sentences; all flows share it, and so learn from one's failure."""

    def __init__(self, most: int) -> None:
        self.tokens = most
        """The current limit."""
        self._most = most
        self._sound = 0
        """Steps since the device last ran out of memory, or since the budget grew."""

    def fail(self, tokens: int) -> None:
        """Note that there was no memory for so many tokens; from now on, the limit is half of them."""
        if tokens:
            self.tokens = min(self.tokens, max(1, tokens // 2))
        self._sound = 0

    def succeed(self) -> None:
        """Note a step that went well; after enough of them, the limit grows back."""
        self._sound += 1
        if self.tokens < self._most and self._sound >= RECOVERY:
            self.tokens, self._sound = min(self._most, 2 * self.tokens), 0
