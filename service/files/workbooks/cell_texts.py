"""Texts of cells and comments, cut out of their part to be translated and put back."""

import re
from dataclasses import dataclass, field
from typing import Final

from models.text.words import has_words
from service.files.numbered import pieces_of
from service.files.office.paragraph import Paragraph
from service.files.workbooks.cells import CELLS, add, into_runs, out_of_runs, text_of
from service.files.workbooks.excerpts import Excerpt, elements_of
from service.files.workbooks.tables import MOST_IN_A_NAME, Label, Names
from service.files.xml_text import Element

_CODE: Final = re.compile(r"(?=[A-Z._/-]*+[0-9])[A-Z0-9]++(?:[._/-][A-Z0-9]++)*+|[A-Za-z0-9]++(?:[._][A-Za-z0-9]++)++")
"""A number with letters, such as PO-2024/17, or the name of a file or of an identifier in a program."""
_MOST_IN_A_CELL: Final = 32_767
"""The most characters of a cell: Excel would cut off the rest, and report that it has repaired the file."""


@dataclass(slots=True, eq=False)
class CellText:
    """A text that one or several cells have."""

    paragraph: Paragraph
    labels: list[Label] = field(default_factory=list)
    """What tables have as labels of these cells; the text has to be the same."""
    is_written: bool = False

    @property
    def said(self) -> str:
        """Its words, without formatting."""
        return text_of(self.paragraph.element)

    def write(self, translation: str) -> None:
        """Replace the text by its translation, unless that is empty or too long."""
        said = words_of(translation)
        lines = self.paragraph.html.count("<br") + translation.count("<br")  # lost ones are added again
        length = len(said.encode("utf-16-le", "surrogatepass")) // 2 + lines
        if said.strip() and length <= (MOST_IN_A_NAME if self.labels else _MOST_IN_A_CELL):
            self.paragraph.write(translation)
            self.is_written = True

    def rename(self, names: Names) -> None:
        """Make a column's name unique with a number, if need be, and update the labels in tables."""
        number = names.take(self.said, self.labels)
        if number:
            add(self.paragraph.element, number)
        for label in self.labels:
            label.say(self.said)


def is_text(said: str) -> bool:
    """Return whether a cell's text should be translated: it has words, and is not a code."""
    return has_words(said) and not _CODE.fullmatch(said.strip())


def words_of(translation: str) -> str:
    """Return the words of a translation, without its tags."""
    return "".join(each if isinstance(each, str) else "" for each in pieces_of(translation))


class CellTexts:
    """The texts of a part, by their numbers in its excerpt."""

    def __init__(self, excerpt: Excerpt, small: Element) -> None:
        into_runs(small)
        numbers = {element: number for number, element in enumerate(small)}
        paragraphs = Paragraph.all_of(small, CELLS)
        self.of = {numbers[each.element]: CellText(each) for each in paragraphs if each.element in numbers}
        self._excerpt = excerpt
        self._small = small

    def written(self) -> bytes | None:
        """Return the part with the texts that were written; None if there are none."""
        numbers = [number for number, text in self.of.items() if text.is_written]
        if not numbers:
            return None
        for number in numbers:
            out_of_runs(self.of[number].paragraph.element)
        elements = elements_of(self._small)
        return self._excerpt.filled({number: elements[number] for number in numbers})
