"""Paragraphs and titles of reStructuredText, and how their translations are written."""

import re
from dataclasses import dataclass
from typing import Final

from models.text.words import beside
from service.segmentation.paragraphs import columns_of

_NOTHING: Final = "\\ "
"""White space that is not shown."""
_ENUMERATOR: Final = re.compile(
    r"\A(?:[-*+•‣⁃]|(?:[A-Za-z]|[0-9]{1,4}|[ivxlcdmIVXLCDM]{1,8}|#)[.)]|\([A-Za-z0-9]{1,4}\))\s"
)
"""What would make a paragraph of one line an item of a list."""
_STRESSED: Final = re.compile(
    r"(?P<code>``.*?``|`[^`]*+`)|(?<![\\*A-Za-z0-9])(?P<sign>\*{1,2})(?![\s*])[^*]++(?<!\s)(?P=sign)(?![*A-Za-z0-9])"
)
"""Words with emphasis, or code, in which an asterisk is one."""
_RULE: Final = re.compile(r"([!-/:-@\[-`{-~])\1+")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a paragraph or a title, and how the document has them."""

    words: str
    was: str
    over: str = ""
    """The line above a title."""
    under: str = ""
    """The line below a title, or what says that an example follows."""
    is_title: bool = False

    def written(self, words: str) -> str:
        """Return what the document has with other words in place of these."""
        if words == self.words:
            return self.was
        words = _STRESSED.sub(_apart, words)
        if self.is_title:  # whose lines must not be shorter
            return f"{_as_wide(self.over, words)}{words}{_as_wide(self.under, words)}"
        if not self._is_item:
            words = _ENUMERATOR.sub(r"\\\g<0>", words)
        return words + self.under

    @property
    def _is_item(self) -> bool:
        """Whether it is the item of a list already, though not by its mark alone: of two lines, it would be none."""
        return "\n" not in self.was and _ENUMERATOR.match(self.was) is not None


def _apart(stressed: re.Match[str]) -> str:
    """Return words with emphasis, apart from letters that are directly beside them in languages without spaces."""
    if stressed["code"] is not None:
        return stressed[0]
    before, after = beside(stressed)
    return f"{_NOTHING * before.isalnum()}{stressed[0]}{_NOTHING * after.isalnum()}"


def _as_wide(rule: str, words: str) -> str:
    """Return a title's line, and what is beside it, not shorter than the title."""
    width = columns_of(words)
    found = _RULE.search(rule)
    if found is None or len(found[0]) >= width:
        return rule
    return f"{rule[: found.start()]}{found[1] * width}{rule[found.end() :]}"
