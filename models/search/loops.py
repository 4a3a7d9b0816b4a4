"""The guard against loops: a model that begins to say the same again and again would go on to the maximum length."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

LONGEST: Final = 16
"""Tokens of an n-gram whose repetitions are looked for."""
COPIES: Final = 4
"""Of an n-gram in a row that are always let through."""

_Rows = Iterable[tuple[int, Sequence[int]]]
"""Each hypothesis by its row; all of its tokens, or the last `LoopGuard.reach` ones."""


def continues_loop(tokens: Sequence[int], most: int | None) -> int | None:
    """The token that would begin one more copy of an n-gram which has been said too often in a row.

    Args:
        tokens: of a hypothesis so far.
        most: tokens that an n-gram may fill in a row; four copies of it are let through in any case. None: any number.

    Returns:
        The token that must not come next; None if any may.
    """
    if most is None:
        return None
    return next((tokens[-n] for n in range(1, LONGEST + 1) if _left(tokens, n, most) == 0), None)


def tokens_to_loop(tokens: Sequence[int], most: int) -> int:
    """How many tokens come at least before `continues_loop` has something to say of a hypothesis."""
    return min(_left(tokens, n, most) for n in range(1, LONGEST + 1))


def _left(tokens: Sequence[int], n: int, most: int) -> int:
    """How many tokens, each the same as the one `n` before it, are missing to as many copies as are let through."""
    wanted = n * max(COPIES, -(-most // n)) - n
    for same in range(min(wanted, len(tokens) - n)):
        if tokens[-1 - same] != tokens[-1 - same - n]:
            return wanted - same
    return wanted - max(0, min(wanted, len(tokens) - n))


class LoopGuard:
    """Looks for loops in the hypotheses of a search, no more often than there may be some."""

    def __init__(self, most: int | None) -> None:
        """Let an n-gram fill at most so many tokens in a row; None: any number."""
        self._most = most
        self._free = 0
        self.reach = 0 if most is None else max(most + LONGEST, COPIES * LONGEST)
        """The last tokens of a hypothesis, of which it needs no more."""

    def begin(self) -> None:
        """Look again: there are other hypotheses than before, and not only longer ones."""
        self._free = 0

    def forbidden(self, rows: Callable[[], _Rows]) -> list[tuple[int, int]]:
        """Rows that repeat themselves, and the token that would go on with it; rows are asked for where it looks."""
        if self._most is None or self._free > 0:
            return []
        looked_at = list(rows())
        self._free = min((tokens_to_loop(tokens, self._most) for _, tokens in looked_at), default=0)
        if self._free:
            return []
        found = ((row, continues_loop(tokens, self._most)) for row, tokens in looked_at)
        return [(row, token) for row, token in found if token is not None]

    def pass_on(self, steps: int) -> int:
        """Go on by so many tokens, or by fewer if it has to look before; gives the number."""
        if self._most is None:
            return steps
        steps = min(steps, max(1, self._free))
        self._free -= steps
        return steps
