"""What a workbook says of texts by their words: in formulas, in filters, in what a pivot table is made of.

Such a text stays where it is all that a cell says: a formula that counts the cells with a word would find none.
"""

import re
from typing import Final

from service.errors import InvalidInputError

_LITERAL: Final = re.compile(r'"((?:[^"]++|"")*+)(?:"|\Z)')
"""One that does not end goes on to the end, so that no other one is looked for in it."""
_COLUMN: Final = re.compile(r"\[@?((?:'.|[^\[\]'])++)(\]?)", re.DOTALL)
"""One of a table (ECMA-376, part 1, section 18.17.2.5): what has a meaning of its own there has a ' before it.

One that is not closed is none, and is found all the same, so that no other one is looked for in it.
"""
_ESCAPED: Final = re.compile("'(.)", re.DOTALL)
_OPERATOR: Final = re.compile("<>|[<>]=?|=")
"""What a criterion may begin with: COUNTIF(A:A,"<>done") counts the cells that do not say "done"."""
_MOST: Final = 100_000
_TO_PLACES: Final = ("INDIRECT", "HYPERLINK")
_COMPARING: Final = (
    *("=", "<", ">", "COUNTIF", "SUMIF", "AVERAGEIF", "MAXIFS", "MINIFS"),
    *("LOOKUP", "MATCH", "EXACT", "FILTER", "SWITCH", "UNIQUE"),
)


class References:
    """Texts that something refers to, whatever their case and white space: so do formulas."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._known: set[str] = set()
        self.has_places = False
        """Whether a formula makes the name of a place, such as a sheet, of what cells say."""
        self.compares = False
        """Whether a formula asks if two cells say the same."""

    def __contains__(self, text: str) -> bool:
        return normal(text) in self._texts

    def add(self, text: str) -> None:
        """A text that is referred to.

        Raises:
            InvalidInputError: they are too many.
        """
        self._texts.add(normal(text))
        if len(self._texts) > _MOST:
            raise InvalidInputError(f"file: its formulas name more than {_MOST} texts")

    def add_formula(self, formula: str) -> None:
        """All that a formula has in quotation marks, as a whole, as a list or as a criterion, and its columns."""
        capitals = formula.upper()
        self.has_places = self.has_places or any(name in capitals for name in _TO_PLACES)
        self.compares = self.compares or any(name in capitals for name in _COMPARING)
        texts = {literal.replace('""', '"') for literal in set(_LITERAL.findall(formula))}
        columns = {_ESCAPED.sub(r"\1", column) for column, closed in set(_COLUMN.findall(formula)) if closed}
        parts = texts | {each for text in texts for each in text.split(",")}
        found = parts | {text[operator.end() :] for text in parts if (operator := _OPERATOR.match(text))} | columns
        for text in found - self._known:  # many formulas say the same
            self.add(text)
        self._known |= found if len(self._known) <= _MOST else set()


def normal(text: str) -> str:
    """A text as formulas compare it."""
    return " ".join(text.split()).casefold()
