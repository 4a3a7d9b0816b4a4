"""The guard against loops: a model that starts to repeat itself would do so up to the maximum length."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

LONGEST: Final = 16
"""The longest n-grams whose repetitions are detected, in tokens."""
COPIES: Final = 4
"""Copies of an n-gram in a row that are always allowed."""

_Rows = Iterable[tuple[int, Sequence[int]]]
"""Each hypothesis by its row, with all of its tokens or the last `LoopGuard.reach` ones."""


def continues_loop(tokens: Sequence[int], most: int | None) -> int | None:
    """Return the token that would begin one more copy of an n-gram that has been repeated too often in a row.

    Args:
        tokens: the tokens of a hypothesis so far.
        most: tokens that an n-gram may fill in a row; four copies of it are always allowed. None: any number.

    Returns:
        The token that must not come next; None if any may.
    """
    if most is None:
        return None
    return next((tokens[-n] for n in range(1, LONGEST + 1) if _left(tokens, n, most) == 0), None)


def tokens_to_loop(tokens: Sequence[int], most: int) -> int:
    """Return how many more tokens a hypothesis needs at least before `continues_loop` can forbid one."""
    return min(_left(tokens, n, most) for n in range(1, LONGEST + 1))


def _left(tokens: Sequence[int], n: int, most: int) -> int:
    """Return how many more tokens, each equal to the one `n` before it, would complete the allowed copies."""
    wanted = n * max(COPIES, -(-most // n)) - n
    for same in range(min(wanted, len(tokens) - n)):
        if tokens[-1 - same] != tokens[-1 - same - n]:
            return wanted - same
    return wanted - max(0, min(wanted, len(tokens) - n))


class LoopGuard:
    """Looks for loops in the hypotheses of a search, only when there may be some."""

    def __init__(self, most: int | None) -> None:
        """Allow an n-gram to fill at most `most` tokens in a row; None: any number."""
        self._most = most
        self._free = 0
        self.reach = 0 if most is None else max(most + LONGEST, COPIES * LONGEST)
        """How many of a hypothesis's last tokens it needs at most."""

    def begin(self) -> None:
        """Look again in the next step, since there are new hypotheses, not only longer ones."""
        self._free = 0

    def forbidden(self, rows: Callable[[], _Rows]) -> list[tuple[int, int]]:
        """Return rows that repeat themselves, and the token that would go on with it; call `rows` only if needed."""
        if self._most is None or self._free > 0:
            return []
        looked_at = list(rows())
        self._free = min((tokens_to_loop(tokens, self._most) for _, tokens in looked_at), default=0)
        if self._free:
            return []
        found = ((row, continues_loop(tokens, self._most)) for row, tokens in looked_at)
        return [(row, token) for row, token in found if token is not None]

    def allows(self, steps: int) -> int:
        """Return how many of these steps may be taken before it has to look again; at least one."""
        return steps if self._most is None else min(steps, max(1, self._free))

    def pass_on(self, steps: int) -> None:
        """Record that every hypothesis is as many tokens longer; `steps` is at most what is allowed."""
        self._free -= steps
