"""What each hypothesis of a beam has said: by rows, of which each step makes new ones."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.data.tokenizer import BOS

Array = NDArray[Any]

NOTED: Final = 8
"""Steps that are noted down: a hypothesis that ends is followed back through them."""


class Histories:
    """The tokens of R hypotheses, as long as the longest of them: those of a hypothesis are the last ones of its row.

    Steps are noted down as they come and carried out together: what each of them copies is all that was said.
    """

    def __init__(self) -> None:
        """Have no hypothesis yet."""
        self._said: Array = np.zeros((0, 0), np.int64)
        self._steps: Final[list[tuple[Array, Array]]] = []

    def add(self, rows: int, longest: int) -> None:
        """Let new hypotheses, which have said nothing, stand after the others, of which none has said more tokens."""
        known = self._carried_out()
        known = known[:, known.shape[1] - longest :]
        self._said = np.concatenate([known, np.full((rows, longest), BOS)])

    def go_on(self, rows: Array, tokens: Array) -> None:
        """Let each hypothesis be what one in these rows was, (R,), with one more token, (R,)."""
        self._steps.append((rows, tokens))
        if len(self._steps) >= NOTED:
            self._carried_out()

    def keep(self, rows: Array) -> None:
        """Go on with the hypotheses in these rows alone."""
        self._said = self._carried_out()[rows]

    def last(self, count: int) -> list[list[int]]:
        """The last tokens of each row, so many or fewer."""
        known = self._carried_out()
        last: list[list[int]] = known[:, max(0, known.shape[1] - count) :].tolist()
        return last

    def of(self, row: int, count: int) -> list[int]:
        """The last tokens of a hypothesis, of which it has so many or more."""
        tokens: list[int] = []
        for rows, chosen in reversed(self._steps[len(self._steps) - min(count, len(self._steps)) :]):
            tokens.append(int(chosen[row]))
            row = int(rows[row])
        before = self._said.shape[1] - (count - len(tokens))
        said: list[int] = self._said[row, before:].tolist()
        return said + tokens[::-1]

    def _carried_out(self) -> Array:
        """All that was said."""
        if self._steps:
            row, tokens = np.arange(len(self._steps[-1][0])), []
            for rows, chosen in reversed(self._steps):
                tokens.append(chosen[row])
                row = rows[row]
            self._said = np.column_stack([self._said[row], *reversed(tokens)])
            self._steps.clear()
        return self._said
