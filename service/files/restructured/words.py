"""Paragraphs and titles of reStructuredText, and how their translations are written."""

import re
import unicodedata
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
_MARKED: Final = re.compile(
    r"""
      (?<!`) `` (?![`\s]) (?: [^`]++ | `(?!`) )++ ``                                              # ``a``
    | (?: (?<![A-Za-z0-9:]) :[a-z0-9_+-]{1,20}+ (?: :[a-z0-9_+-]{1,20}+ ){0,2}+ : (?=`)           # :ref:`a` `a`_
        | (?<![A-Za-z0-9_]) _ (?=`) )?+ (?<!`) ` (?![`\s]) [^`]++ ` (?!`) _{0,2}+
    | (?<![\\*A-Za-z0-9]) (?P<sign>\*{1,2}) (?![\s*]) [^*]++ (?<!\s) (?P=sign) (?![*A-Za-z0-9])   # *a*
    | \|[A-Za-z][A-Za-z0-9_.-]*+\| _{0,2}+ | \[(?:[0-9]++|\#?[A-Za-z0-9_.-]++|\#|\*)\]_                   # |a| [1]_
    """,
    re.VERBOSE,
)
"""What is marked within a line."""
_BEFORE: Final = frozenset("'\"([{<-/:")
_OPENING: Final = frozenset("([{<")
_ANYWHERE: Final = frozenset({"Pd", "Pf", "Pi", "Po"})
"""Categories of characters that may be on either side; brackets may be where they open or close."""
RULE: Final = r"([!-/:-@\[-`{-~])\1+"
"""The line above or below a title."""
_RULE: Final = re.compile(RULE)


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
    target: str = ""
    """What a title's own words are to links, which a translation of it has to say before it."""

    def written(self, words: str) -> str:
        """Return what the document has with other words in place of these."""
        if words == self.words:
            return self.was
        words = _MARKED.sub(_apart, words)
        if self.is_title:  # whose lines must not be shorter
            line = self.over.rpartition("\n")[2] + words
            return f"{self.target}{_as_wide(self.over, line)}{words}{_as_wide(self.under, line)}"
        if not self._is_item:
            words = _ENUMERATOR.sub(r"\\\g<0>", words)
        return words + self.under

    @property
    def _is_item(self) -> bool:
        """Whether it is the item of a list already, though not by its mark alone: of two lines, it would be none."""
        return "\n" not in self.was and _ENUMERATOR.match(self.was) is not None


def _apart(marked: re.Match[str]) -> str:
    """Return what is marked, apart from characters directly beside it that would make it unmarked.

    "Inline markup recognition rules" of the specification of reStructuredText; ASCII has its own.
    """
    before, after = beside(marked)
    if before.isascii() and before.strip() and before not in _BEFORE:
        return marked[0]  # nothing is marked: 2*a*
    begins = before.isascii() or _may_be_beside(before, "Ps")
    ends = after not in _OPENING if after.isascii() else _may_be_beside(after, "Pe")
    return f"{'' if begins else _NOTHING}{marked[0]}{'' if ends else _NOTHING}"


def _may_be_beside(character: str, bracket: str) -> bool:
    category = unicodedata.category(character)
    return character.isspace() or category in _ANYWHERE or category == bracket


def _as_wide(rule: str, line: str) -> str:
    """Return a title's line, and what is beside it, not shorter than the title."""
    width = columns_of(line)
    found = _RULE.search(rule)
    if found is None or len(found[0]) >= width:
        return rule
    return f"{rule[: found.start()]}{found[1] * width}{rule[found.end() :]}"
