"""Split lines into cells, at tabs and, in the row of a table, at | (GFM 0.29, section 4.10)."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

_LEADER: Final = r"(?<![ \u3000.…‥・．·])[ \u3000]*+[.…‥・．·](?: ?[.…‥・．·]){3,}+[ \u3000]*+(?=[0-9０-９]{1,4}\s*\Z)"
"""The dot leader before a page number in a table of contents."""
_BETWEEN_IN_ROW: Final = re.compile(
    rf"(\t+|{_LEADER}|(?:(?<![ \t\u3000])[ \t\u3000]+)?(?:\\?\||[│┃║])[ \t\u3000]*"
    r"|(?<![!-;=?-{}~])[!-;=?-{}~]{200,})"
)
_BETWEEN: Final = re.compile(rf"(\t+|{_LEADER}|(?<![!-;=?-~])[!-;=?-~]{{200,}})")
"""What separates the cells of a row, and those of any other line.

A long run of characters that is no word of any language, such as an image in base64 or a long address, counts as a
separator, too: it would be too long for a model. A tag beside it is not part of it. The lookbehinds let such a run be
tried only once, at its beginning, and not again from each of its characters.
"""
_CODE: Final = re.compile(r"`(?:[^`|]|(?<=\\)\|)++`")
"""Code in a row, where each | within it has a backslash."""
_ROW_BEGINS: Final = ("|", "│", "┃", "║")
"""How rows begin in Markdown, and in tables drawn by people and programs."""
_RULE: Final = re.compile(r"[ \t>]*+\|?+[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?\s*+")
"""The delimiter row below the first row of a table."""


def rows_of_tables(lines: Sequence[str]) -> list[bool]:
    """Return, for each line, whether it is a row of a table with a rule; such rows need not begin with |."""
    rows = [False] * len(lines)
    for place in range(1, len(lines)):
        if (
            not rows[place]
            and all("|" in line for line in lines[place - 1 : place + 1])
            and _RULE.fullmatch(lines[place])
        ):
            end = next((number for number in range(place, len(lines)) if "|" not in lines[number]), len(lines))
            rows[place - 1 : end] = [True] * (end - place + 1)
    return rows


def cells_of(text: str, *, is_row: bool) -> list[str]:
    """Return the cells of a line alternating with the separators between them; each cell is a text of its own."""
    if not (is_row or text.startswith(_ROW_BEGINS)):
        return _BETWEEN.split(text)
    seen = _CODE.sub(lambda code: code[0].replace("|", "_"), text)
    ends = accumulate(map(len, _BETWEEN_IN_ROW.split(seen)), initial=0)
    return [text[begin:end] for begin, end in pairwise(ends)]
