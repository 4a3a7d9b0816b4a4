"""The tokens of each hypothesis of a beam, in rows that are rearranged in each step."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.data.tokenizer import BOS

Array = NDArray[Any]

NOTED: Final = 8
"""Steps that are recorded before they are applied; a hypothesis that ends is traced back through them."""


class Histories:
    """The tokens of R hypotheses, in rows as long as the longest; a shorter hypothesis is at the end of its row.

    Steps are first recorded and then applied together, because applying one copies all tokens so far.
    """

    def __init__(self) -> None:
        """Start without hypotheses."""
        self._said: Array = np.zeros((0, 0), np.int64)
        self._steps: Final[list[tuple[Array, Array]]] = []

    def add(self, rows: int, longest: int) -> None:
        """Append new hypotheses without tokens; none of the others has more than `longest` tokens."""
        known = self._carried_out()
        known = known[:, known.shape[1] - longest :]
        self._said = np.concatenate([known, np.full((rows, longest), BOS)])

    def go_on(self, rows: Array, tokens: Array) -> None:
        """Replace hypotheses by those that were in these rows (R,), with one more token (R,) each."""
        self._steps.append((rows, tokens))
        if len(self._steps) >= NOTED:
            self._carried_out()

    def keep(self, rows: Array) -> None:
        """Keep only the hypotheses in these rows."""
        self._said = self._carried_out()[rows]

    def last(self, count: int) -> list[list[int]]:
        """Return the last tokens of each row, at most `count`."""
        known = self._carried_out()
        last: list[list[int]] = known[:, max(0, known.shape[1] - count) :].tolist()
        return last

    def of(self, row: int, count: int) -> list[int]:
        """Return the last `count` tokens of a hypothesis, which must have as many."""
        tokens: list[int] = []
        for rows, chosen in reversed(self._steps[len(self._steps) - min(count, len(self._steps)) :]):
            tokens.append(int(chosen[row]))
            row = int(rows[row])
        before = self._said.shape[1] - (count - len(tokens))
        said: list[int] = self._said[row, before:].tolist()
        return said + tokens[::-1]

    def _carried_out(self) -> Array:
        """Apply all recorded steps, and return the tokens."""
        if self._steps:
            row, tokens = np.arange(len(self._steps[-1][0])), []
            for rows, chosen in reversed(self._steps):
                tokens.append(chosen[row])
                row = rows[row]
            self._said = np.column_stack([self._said[row], *reversed(tokens)])
            self._steps.clear()
        return self._said
