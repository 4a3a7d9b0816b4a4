"""What a workbook says of texts by their words: in formulas, in filters, in what a pivot table is made of.

Such a text stays where it is all that a cell says: a formula that counts the cells with a word would find none.
"""

import re
from typing import Final

from service.errors import InvalidInputError

_LITERAL: Final = re.compile(r'"((?:[^"]++|"")*+)(?:"|\Z)')
"""One that does not end goes on to the end, so that no other one is looked for in it."""
_COLUMN: Final = re.compile(r"\[@?((?:'.|[^\[\]'])++)\]", re.DOTALL)
"""One of a table (ECMA-376, part 1, section 18.17.2.5): what has a meaning of its own there has a ' before it."""
_ESCAPED: Final = re.compile("'(.)", re.DOTALL)
_MOST: Final = 100_000


class References:
    """Texts that something refers to, whatever their case and white space: so do formulas."""

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def __contains__(self, text: str) -> bool:
        return _normal(text) in self._texts

    def add(self, text: str) -> None:
        """A text that is referred to.

        Raises:
            InvalidInputError: they are too many.
        """
        self._texts.add(_normal(text))
        if len(self._texts) > _MOST:
            raise InvalidInputError(f"file: its formulas name more than {_MOST} texts")

    def add_formula(self, formula: str) -> None:
        """All that a formula has in quotation marks, as a whole and as a list, and the columns that it names."""
        for literal in _LITERAL.findall(formula):
            text = literal.replace('""', '"')
            for each in (text, *text.split(",")):
                self.add(each)
        if "[" in formula:
            for column in _COLUMN.findall(formula):
                self.add(_ESCAPED.sub(r"\1", column))


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()
