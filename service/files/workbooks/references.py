"""Collect the texts that a workbook refers to by their words: in formulas, filters and the fields of pivot tables.

A cell with just such a text is not translated: otherwise a formula that counts the cells with a word would find none.
"""

import re
from typing import Final

from service.errors import InvalidInputError

_LITERAL: Final = re.compile(r'"((?:[^"]++|"")*+)(?:"|\Z)')
"""A quoted text; an unclosed one goes on to the end, so that none is searched for within it."""
_COLUMN: Final = re.compile(r"\[@?((?:'.|[^\[\]'])++)(\]?)", re.DOTALL)
"""A column of a table (ECMA-376, part 1, section 18.17.2.5), in which special characters have a ' before them.

An unclosed one does not count, but is matched all the same, so that none is searched for within it.
"""
_ESCAPED: Final = re.compile("'(.)", re.DOTALL)
_OPERATOR: Final = re.compile("<>|[<>]=?|=")
"""The operator that a criterion may begin with: COUNTIF(A:A,"<>done") counts the cells that are not "done"."""
_MOST: Final = 100_000
_TO_PLACES: Final = ("INDIRECT", "HYPERLINK")
_COMPARING: Final = (
    *("=", "<", ">", "COUNTIF", "SUMIF", "AVERAGEIF", "MAXIFS", "MINIFS"),
    *("LOOKUP", "MATCH", "EXACT", "FILTER", "SWITCH", "UNIQUE"),
)


class References:
    """Texts that something refers to; case and white space do not matter, as in formulas."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._known: set[str] = set()
        self.has_places = False
        """Whether a formula builds the name of a place, such as a sheet, from the texts of cells."""
        self.compares = False
        """Whether a formula compares the texts of cells."""

    def __contains__(self, text: str) -> bool:
        return normal(text) in self._texts

    def add(self, text: str) -> None:
        """Add a text that is referred to.

        Raises:
            InvalidInputError: there are too many.
        """
        self._texts.add(normal(text))
        if len(self._texts) > _MOST:
            raise InvalidInputError(f"file: its formulas name more than {_MOST} texts")

    def add_formula(self, formula: str) -> None:
        """Add the texts in a formula's quotation marks, as a whole, as a list and as a criterion, and its columns."""
        capitals = formula.upper()
        self.has_places = self.has_places or any(name in capitals for name in _TO_PLACES)
        self.compares = self.compares or any(name in capitals for name in _COMPARING)
        texts = {literal.replace('""', '"') for literal in set(_LITERAL.findall(formula))}
        columns = {_ESCAPED.sub(r"\1", column) for column, closed in set(_COLUMN.findall(formula)) if closed}
        parts = texts | {each for text in texts for each in text.split(",")}
        found = parts | {text[operator.end() :] for text in parts if (operator := _OPERATOR.match(text))} | columns
        for text in found - self._known:  # many formulas have the same texts
            self.add(text)
        self._known |= found if len(self._known) <= _MOST else set()


def normal(text: str) -> str:
    """Normalise a text in the way in which formulas compare it."""
    return " ".join(text.split()).casefold()
