"""Cells of lines: what stands between tabs, and between | in a row of a table (GFM 0.29, section 4.10)."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

_LEADER: Final = r"(?<![ \u3000.…‥・．·])[ \u3000]*+[.…‥・．·](?: ?[.…‥・．·]){3,}+[ \u3000]*+(?=[0-9０-９]{1,4}\s*\Z)"
"""What leads to the number of a page, in a table of contents."""
_BETWEEN_IN_ROW: Final = re.compile(
    rf"(\t+|{_LEADER}|(?:(?<![ \t\u3000])[ \t\u3000]+)?(?:\\?\||[│┃║])[ \t\u3000]*"
    r"|(?<![!-;=?-{}~])[!-;=?-{}~]{200,})"
)
_BETWEEN: Final = re.compile(rf"(\t+|{_LEADER}|(?<![!-;=?-~])[!-;=?-~]{{200,}})")
"""What stands between the cells of a row, and of any other line: also what is no word of any language, such as an
image in base64 or a long address, and would be too long for a model. A tag beside it is none of it.

What begins nowhere but at the beginning of a run is looked for once in each, and not again from each of its characters.
"""
_CODE: Final = re.compile(r"`(?:[^`|]|(?<=\\)\|)++`")
"""In a row, where each | within it has a backslash."""
_ROW_BEGINS: Final = ("|", "│", "┃", "║")
"""As Markdown has rows, and as people and programs draw them."""
_RULE: Final = re.compile(r"[ \t>]*+\|?+[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?\s*+")
"""Below the first row of a table."""


def rows_of_tables(lines: Sequence[str]) -> list[bool]:
    """Whether each line is a row of a table: beside a rule, rows need not begin with |."""
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
    """The cells of a line, and in turn with them what stands between: each is a text of its own."""
    if not (is_row or text.startswith(_ROW_BEGINS)):
        return _BETWEEN.split(text)
    seen = _CODE.sub(lambda code: code[0].replace("|", "_"), text)
    ends = accumulate(map(len, _BETWEEN_IN_ROW.split(seen)), initial=0)
    return [text[begin:end] for begin, end in pairwise(ends)]
